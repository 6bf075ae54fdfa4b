#include "engine/ir/static_facts.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "engine/ir/readers/live_range.h"
#include "engine/ir/readers/llo.h"
#include "engine/ir/readers/utilisation.h"

namespace evolve::ir {

namespace {

using nlohmann::json;

constexpr const char* kFingerprints = "TLP/all-fingerprints.txt";
constexpr const char* kProfile = "TLP/hlo-static-bundle-profile.txt";

const std::string* find_dump(const Dumps& dumps, const std::string& name) {
  auto found = dumps.find(name);
  return found == dumps.end() ? nullptr : &found->second;
}

json allocations_json(const LloPass& pass, const std::unordered_map<uint32_t, LiveRange>& ranges) {
  json out = json::array();
  for (const LloAllocation& one : pass.allocations) {
    json facts = {{"space", one.space}, {"bytes", one.bytes},    {"shape", one.shape},
                  {"tag", one.tag},     {"spill", one.is_spill}, {"line", one.line}};
    if (one.offset) facts["offset"] = *one.offset;
    if (one.is_fixed) facts["fixed"] = true;
    auto range = ranges.find(pass.regions[one.region].number);
    if (range != ranges.end()) facts["live"] = {range->second.first, range->second.last};
    out.push_back(std::move(facts));
  }
  return out;
}

json memory_json(const LloPass& pass) {
  json out = json::object();
  for (const std::string& space : pass.spaces) {
    SpaceUse use = space_use(pass, space);
    if (use.bytes == 0) continue;
    out[space] = {{"bytes", use.bytes},
                  {"peak_live_bytes", use.peak_bytes},
                  {"spilled_bytes", use.spilled_bytes}};
  }
  return out;
}

// Counts how often each opcode is in the text.
json counts_json(const LloPass& pass, const std::vector<LloInstruction>& instructions) {
  std::map<std::string, uint64_t> counts;
  for (const LloInstruction& one : instructions) ++counts[pass.opcodes[one.opcode]];
  return counts;
}

// Adds what an LLO pass says, with live ranges from the module's schedule. The fingerprint, if it
// is known, says how many instructions and allocations the pass has. Bad input: the pass has
// others.
Status add_llo(json& facts, const std::string& module, const Fingerprint* fingerprint,
               const Dumps& dumps) {
  std::string name = module + "/" + std::string(kLloPass);
  const std::string* text = find_dump(dumps, name);
  if (text == nullptr) return {};
  TRY_ASSIGN(auto pass, read_llo(*text, name));
  bool is_whole = fingerprint == nullptr || (fingerprint->instructions == pass.count &&
                                             fingerprint->allocations == pass.allocations.size());
  if (!is_whole)
    return bad_input(fmt::format(
        "{}: has {} instructions and {} allocations, but its fingerprint says {} and {}", name,
        pass.count, pass.allocations.size(), fingerprint->instructions, fingerprint->allocations));
  std::string schedule_name = module + "/packed-bundles-post-ra.txt";
  const std::string* schedule = find_dump(dumps, schedule_name);
  std::unordered_map<uint32_t, LiveRange> ranges;
  if (schedule != nullptr) ranges = live_ranges(*schedule);
  facts["allocations"] = allocations_json(pass, ranges);
  facts["memory"] = memory_json(pass);
  facts["static_counts"] = {{"transfers", counts_json(pass, pass.transfers)},
                            {"waits", counts_json(pass, pass.waits)},
                            {"spills", counts_json(pass, pass.spills)},
                            {"fills", counts_json(pass, pass.fills)}};
  facts["sources"]["allocations"] = {{"file", name}};
  facts["sources"]["memory"] = {{"file", name}};
  facts["sources"]["static_counts"] = {{"file", name}};
  if (!ranges.empty()) facts["sources"]["live"] = {{"file", schedule_name}};
  return {};
}

Status add_utilisation(json& facts, const std::string& module, const Dumps& dumps) {
  std::string name = module + "/" + std::string(kUtilisationDump);
  const std::string* text = find_dump(dumps, name);
  if (text == nullptr) return {};
  TRY_ASSIGN(auto read, read_utilisation(*text, name));
  json units = json::object();
  for (const UnitUse& unit : read.units)
    units[unit.unit] = {{"used", unit.used}, {"available", unit.capacity * read.bundles}};
  facts["static_utilisation"] = std::move(units);
  facts["sources"]["static_utilisation"] = {{"file", name}, {"line", read.line}};
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

void StaticFacts::add_to(json& facts, const std::string& module, const Dumps& dumps,
                         std::vector<std::string>& unread) const {
  auto known = fingerprints_.find(module);
  const Fingerprint* fingerprint = known == fingerprints_.end() ? nullptr : &known->second;
  if (fingerprint != nullptr) {
    facts["fingerprint"] = fingerprint->text;
    facts["sources"]["fingerprint"] = {{"file", kFingerprints}, {"line", fingerprint->line}};
  }
  if (auto found = profiles_.find(module); found != profiles_.end()) {
    json counters = json::object();
    for (const ProfileCounter& one : found->second.counters)
      counters[one.name] = {{"used", one.used}, {"available", one.available}};
    facts["bundle_profile"] = std::move(counters);
    facts["sources"]["bundle_profile"] = {{"file", kProfile}, {"line", found->second.line}};
  }
  for (const Status& status :
       {add_llo(facts, module, fingerprint, dumps), add_utilisation(facts, module, dumps)}) {
    if (!status) unread.push_back(status.error().message);
  }
}

}  // namespace evolve::ir
