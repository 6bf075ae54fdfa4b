#include "engine/ir/static_facts.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "engine/ir/readers/live_range.h"
#include "engine/ir/readers/llo.h"
#include "engine/ir/readers/utilisation.h"

namespace evolve::ir {

namespace {

constexpr const char* kFingerprints = "TLP/all-fingerprints.txt";
constexpr const char* kProfile = "TLP/hlo-static-bundle-profile.txt";

const std::string* find_dump(const Dumps& dumps, const std::string& name) {
  auto found = dumps.find(name);
  return found == dumps.end() ? nullptr : &found->second;
}

std::vector<AllocationFacts> allocations_of(const LloPass& pass,
                                            const std::unordered_map<uint32_t, LiveRange>& ranges) {
  std::vector<AllocationFacts> out;
  for (const LloAllocation& one : pass.allocations) {
    AllocationFacts facts{.space = one.space,
                          .bytes = one.bytes,
                          .offset = one.offset,
                          .shape = one.shape,
                          .tag = one.tag,
                          .is_spill = one.is_spill,
                          .is_fixed = one.is_fixed,
                          .live = {},
                          .line = one.line};
    auto range = ranges.find(pass.regions[one.region].number);
    if (range != ranges.end()) facts.live = {range->second.first, range->second.last};
    out.push_back(std::move(facts));
  }
  return out;
}

std::map<std::string, MemoryUse> memory_of(const LloPass& pass) {
  std::map<std::string, MemoryUse> out;
  for (const std::string& space : pass.spaces) {
    SpaceUse use = space_use(pass, space);
    if (use.bytes > 0) out[space] = {use.bytes, use.peak_bytes, use.spilled_bytes};
  }
  return out;
}

// Counts how often each opcode is among `instructions`.
std::map<std::string, uint64_t> counts_of(const LloPass& pass,
                                          const std::vector<LloInstruction>& instructions) {
  std::map<std::string, uint64_t> counts;
  for (const LloInstruction& one : instructions) ++counts[pass.opcodes[one.opcode]];
  return counts;
}

// Adds the facts of the last LLO pass, with live ranges from the module's schedule. Bad input: the
// pass cannot be read, or it has not as many instructions and allocations as the module's
// fingerprint says, if that is known.
Status add_llo(KernelFacts& facts, const Fingerprint* fingerprint, const Dumps& dumps) {
  std::string name = facts.name + "/" + std::string(kLloPass);
  const std::string* text = find_dump(dumps, name);
  if (text == nullptr) return {};
  TRY_ASSIGN(auto pass, read_llo(*text, name));
  bool is_whole = fingerprint == nullptr || (fingerprint->instructions == pass.count &&
                                             fingerprint->allocations == pass.allocations.size());
  if (!is_whole)
    return bad_input(fmt::format(
        "{}: has {} instructions and {} allocations, but its fingerprint says {} and {}", name,
        pass.count, pass.allocations.size(), fingerprint->instructions, fingerprint->allocations));
  std::string schedule_name = facts.name + "/packed-bundles-post-ra.txt";
  const std::string* schedule = find_dump(dumps, schedule_name);
  std::unordered_map<uint32_t, LiveRange> ranges;
  if (schedule != nullptr) ranges = live_ranges(*schedule);
  facts.allocations = allocations_of(pass, ranges);
  facts.memory = memory_of(pass);
  facts.static_counts = {.transfers = counts_of(pass, pass.transfers),
                         .waits = counts_of(pass, pass.waits),
                         .spills = counts_of(pass, pass.spills),
                         .fills = counts_of(pass, pass.fills)};
  for (const char* fact : {"allocations", "memory", "static_counts"})
    facts.sources[fact] = {name, {}};
  if (!ranges.empty()) facts.sources["live"] = {schedule_name, {}};
  return {};
}

Status add_utilisation(KernelFacts& facts, const Dumps& dumps) {
  std::string name = facts.name + "/" + std::string(kUtilisationDump);
  const std::string* text = find_dump(dumps, name);
  if (text == nullptr) return {};
  TRY_ASSIGN(auto read, read_utilisation(*text, name));
  auto& units = facts.static_utilisation.emplace();
  for (const UnitUse& unit : read.units)
    units[unit.unit] = {unit.used, unit.capacity * read.bundles};
  facts.sources["static_utilisation"] = {name, read.line};
  return {};
}

}  // namespace

StaticFacts::StaticFacts(const Dumps& dumps, std::vector<std::string>& unread) {
  if (const std::string* text = find_dump(dumps, kFingerprints)) {
    auto read = read_fingerprints(*text, kFingerprints);
    if (!read) unread.push_back(read.error().message);
    if (read) {
      for (Fingerprint& one : *read) fingerprints_.emplace(one.module, one);
    }
  }
  if (const std::string* text = find_dump(dumps, kProfile)) {
    auto read = read_bundle_profile(*text, kProfile);
    if (!read) unread.push_back(read.error().message);
    if (read) {
      for (InstructionProfile& one : *read) profiles_.emplace(one.instruction, one);
    }
  }
}

void StaticFacts::add_to(KernelFacts& facts, const Dumps& dumps,
                         std::vector<std::string>& unread) const {
  auto known = fingerprints_.find(facts.name);
  const Fingerprint* fingerprint = known == fingerprints_.end() ? nullptr : &known->second;
  if (fingerprint != nullptr) {
    facts.fingerprint = fingerprint->text;
    facts.sources["fingerprint"] = {kFingerprints, fingerprint->line};
  }
  if (auto found = profiles_.find(facts.name); found != profiles_.end()) {
    auto& counters = facts.bundle_profile.emplace();
    for (const ProfileCounter& one : found->second.counters)
      counters[one.name] = {one.used, one.available};
    facts.sources["bundle_profile"] = {kProfile, found->second.line};
  }
  for (const Status& status : {add_llo(facts, fingerprint, dumps), add_utilisation(facts, dumps)}) {
    if (!status) unread.push_back(status.error().message);
  }
}

}  // namespace evolve::ir
