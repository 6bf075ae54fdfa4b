#include "engine/app/authors/proposals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/app/campaign.h"
#include "engine/app/results.h"
#include "engine/app/state.h"
#include "engine/campaign/generator/round_mutate.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/history/history.h"
#include "engine/search/proposal/mutation.h"
#include "engine/search/variant.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"
#include "engine/world/process/capture.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;

// Returns the selection that a round starts from; nullopt: the round is the first one, or the round
// before was not built.
Result<std::optional<search::Selection>> selection_before(const Campaign& campaign, int round) {
  if (round == 1) return std::optional<search::Selection>();
  return selection_of(campaign, round - 1);
}

PersonPlace place_of(const Campaign& campaign, int number,
                     const std::optional<search::Selection>& before) {
  PersonPlace out;
  out.id = VariantId(number).text();
  out.round = round_of(campaign.shape, number);
  out.path = proposal_path(campaign.shape, out.id);
  out.is_open = !world::is_there(out.path);
  if (out.round > 1 && !before) return out;
  out.parent = VariantId(0).text();
  out.parent_path = campaign.work + "/seed.py";
  if (out.round == 1) return out;
  const int place = number - 1 - (out.round - 1) * campaign.shape.variants();
  const size_t survivor = before->parent_of(static_cast<size_t>(place));
  if (survivor == 0) return out;
  out.parent = before->survivors[survivor - 1].variant.id.text();
  out.parent_path =
      fmt::format("{}/round-{}/lineage-{}.py", campaign.work, out.round - 1, survivor);
  return out;
}

// A folder that only this process uses. It is removed with the object.
class Scratch {
 public:
  explicit Scratch(const Campaign& campaign)
      : path_(fmt::format("{}/proposal-{}", campaign.work, ::getpid())) {}
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Status make() const { return world::DiskFiles().make_folders(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Brings a text, which messages call `name`, into canonical form. marked() keeps the markers of an
// EVOLVE block if the text has one.
class Normaliser {
 public:
  explicit Normaliser(const Campaign& campaign) : campaign_(campaign), scratch_(campaign) {}

  Result<std::string> plain(const std::string& text, const std::string& name) const {
    return run(text, name, {});
  }
  Result<std::string> marked(const std::string& text, const std::string& name) const {
    const CampaignShape& shape = campaign_.shape;
    auto its_own = run(text, name,
                       {"--on-error", "keep", "--markers", shape.pipeline.kernel.marker_start,
                        shape.pipeline.kernel.marker_end});
    const bool is_done = !its_own || search::pieces_of(*its_own);
    // A kernel from a variant's folder has canonical markers. A second run looks for these.
    const bool has_canonical = static_cast<bool>(search::pieces_of(text));
    if (is_done || !has_canonical) return its_own;
    return run(text, name,
               {"--markers", std::string(search::kBlockStart), std::string(search::kBlockEnd)});
  }

 private:
  Result<std::string> run(const std::string& text, const std::string& name,
                          std::vector<std::string> flags) const {
    if (auto status = scratch_.make(); !status) return status.error();
    const std::string from = scratch_.file("given.py"), to = scratch_.file("canonical.py");
    if (auto status = world::write_file_atomic(from, text); !status) return status.error();
    std::vector<std::string> words = {
        campaign_.python, "-I", campaign_.rules + "/source/normalise.py", "--source", from,
        "--out",          to};
    words.insert(words.end(), flags.begin(), flags.end());
    TRY_ASSIGN(auto ended, world::capture(words, process_environment()));
    if (ended.code != 0) return refusal(ended.err, from, name);
    return world::read_file(to);
  }

  // Returns the step's message, with the file's name as the person knows it.
  static Error refusal(std::string words, const std::string& from, const std::string& name) {
    for (size_t at = words.find(from); at != std::string::npos; at = words.find(from, at))
      words.replace(at, from.size(), name);
    constexpr std::string_view kOpening = "evolve: error: ";
    if (words.starts_with(kOpening)) words.erase(0, kOpening.size());
    const size_t end = words.find('\n');
    return bad_input(
        words.substr(0, end),
        end == std::string::npos ? "" : std::string(without_end_blanks(words.substr(end + 1))));
  }

  const Campaign& campaign_;
  Scratch scratch_;
};

// Returns the first line of `given` that `wanted` lacks, shortened for a message; empty: there is
// no such line.
std::string first_new_line(std::string_view given, std::string_view wanted) {
  std::set<std::string_view> known;
  for (std::string_view line : lines_of(wanted)) known.insert(line);
  for (std::string_view line : lines_of(given)) {
    if (!known.contains(line)) return one_line(line, 80);
  }
  return {};
}

// Checks that a file is the same as the seed outside of the EVOLVE block, because a build uses only
// the block of the file.
Status check_frame(const std::string& canonical, const std::string& seed, const std::string& name) {
  auto given = search::pieces_of(canonical);
  if (!given) return {};
  TRY_ASSIGN(auto wanted, search::pieces_of(seed));
  const std::string hint = "change only the text between the EVOLVE block's markers";
  for (const auto& [is, should] :
       {std::pair(given->head, wanted.head), {given->tail, wanted.tail}}) {
    if (search::is_same_text(is, should)) continue;
    const std::string added = first_new_line(is, should);
    const std::string lost = first_new_line(should, is);
    return bad_input(fmt::format("{}: outside the EVOLVE block, {}", name,
                                 !added.empty()  ? fmt::format("'{}' is new", added)
                                 : !lost.empty() ? fmt::format("'{}' is missing", lost)
                                                 : "lines are in a different order"),
                     "", hint);
  }
  return {};
}

// Returns the first variant so far with this source; nullopt: no variant.
Result<std::optional<VariantId>> known_source(const Campaign& campaign,
                                              const std::string& canonical) {
  const int round = last_round(campaign);
  if (round == 0) return std::optional<VariantId>();
  TRY_ASSIGN(auto history, history_of(campaign, round));
  const std::string digest = sha256(canonical);
  const auto known =
      std::find_if(history.begin(), history.end(),
                   [&](const search::PastVariant& past) { return past.source == digest; });
  return known == history.end() ? std::nullopt : std::optional(known->id);
}

// Returns the kernel that a proposal is compared with; empty: that kernel is not built.
Result<std::string> parent_source(const Campaign& campaign, const PersonPlace& place,
                                  const search::ProposalFile& proposal) {
  std::string path = place.parent_path;
  if (proposal.parents.size() > search::kMostParents) {
    return bad_input(fmt::format("{} parents, at most {} are allowed", proposal.parents.size(),
                                 search::kMostParents));
  }
  for (const VariantId parent : proposal.parents) {
    const std::string folder = campaign.folder_of(parent.text());
    if (folder.empty() || !world::is_there(folder + "/kernel.py")) {
      return bad_input(fmt::format("parent '{}': this variant was not built", parent), "",
                       "evolve log lists the surviving variants");
    }
    if (round_of(campaign.shape, parent.number()) >= place.round)
      return bad_input(fmt::format("parent '{}': not older than '{}'", parent, place.id));
    if (parent == proposal.parents.front()) path = folder + "/kernel.py";
  }
  return path.empty() || !world::is_there(path) ? std::string() : world::read_file(path);
}

}  // namespace

Error no_places(const Campaign& campaign, const std::string& where) {
  return bad_input(
      fmt::format("{}: the pipeline gives people no variants{}", shown_path(campaign.path), where),
      "", "add mutate: { mix: { sweep: 3, person: 1 } } to the pipeline to give people a share");
}

Result<std::vector<PersonPlace>> places_of(const Campaign& campaign, int round) {
  if (round < 1 || round > campaign.shape.rounds()) {
    return bad_input(fmt::format("round-{}: the rounds are round-1 to round-{}", round,
                                 campaign.shape.rounds()));
  }
  TRY_ASSIGN(auto before, selection_before(campaign, round));
  std::vector<PersonPlace> out;
  for (const int number : proposed_variants(campaign.shape, round, round))
    out.push_back(place_of(campaign, number, before));
  return out;
}

Result<PersonPlace> find_place(const Campaign& campaign, const std::string& id) {
  const auto all = proposed_variants(campaign.shape, 1, campaign.shape.rounds());
  if (all.empty()) return no_places(campaign, "");
  for (const int number : all) {
    const std::string one = VariantId(number).text();
    const bool is_it =
        id.empty() ? !world::is_there(proposal_path(campaign.shape, one)) : one == id;
    if (!is_it) continue;
    TRY_ASSIGN(auto before, selection_before(campaign, round_of(campaign.shape, number)));
    return place_of(campaign, number, before);
  }
  if (id.empty()) {
    return bad_input(
        fmt::format("{}: every place has a proposal already", shown_path(campaign.path)), "",
        fmt::format("evolve propose --variant {} --replace", VariantId(all.back())));
  }
  constexpr size_t kShown = 8;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, all.size()); ++i)
    shown.push_back(VariantId(all[i]).text());
  return bad_input(fmt::format("'{}' is not a place for proposals; the places are {}", id,
                               fmt::join(shown, ", ")));
}

Status check_none_open(const Campaign& campaign, const Graph& graph,
                       const std::vector<NodeId>& targets) {
  std::set<NodeId> open;
  for (const int number : proposed_variants(campaign.shape, 1, campaign.shape.rounds())) {
    const std::string path = proposal_path(campaign.shape, VariantId(number).text());
    const auto node = graph.find_node(path);
    if (node && !world::is_there(path)) open.insert(*node);
  }
  if (open.empty()) return {};
  std::set<NodeId> seen(targets.begin(), targets.end());
  std::vector<NodeId> pending = targets;
  std::set<std::string> needed;
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (open.contains(node)) needed.insert(fs::path(graph.path(node)).stem().string());
    const auto maker = graph.node(node).made_by;
    if (!maker) continue;
    for (const NodeId input : graph.edge(*maker).inputs) {
      if (seen.insert(input).second) pending.push_back(input);
    }
  }
  if (needed.empty()) return {};
  const int round =
      round_of(campaign.shape, VariantId::parse(*needed.begin()).value_or(VariantId()).number());
  return bad_input(
      fmt::format("round-{}: no proposal yet for {}", round, fmt::join(needed, ", ")), "",
      fmt::format("run evolve round open {}, then evolve propose or evolve edit", round));
}

Result<CheckedProposal> check_proposal(const Campaign& campaign, const PersonPlace& place,
                                       const search::ProposalFile& proposal,
                                       const std::string& name) {
  TRY_ASSIGN(auto parent, parent_source(campaign, place, proposal));
  if (proposal.passed) return CheckedProposal();
  const Normaliser normaliser(campaign);
  // Blank lines replace the lines above the code, so that messages have the file's own line
  // numbers.
  const std::string as_given = std::string(proposal.lines_above, '\n') + proposal.code;
  TRY(normaliser.plain(as_given, name));
  TRY_ASSIGN(auto seed_text, world::read_file(campaign.shape.files.seed));
  TRY_ASSIGN(auto seed, normaliser.marked(seed_text, campaign.shape.files.seed));
  TRY_ASSIGN(auto canonical, normaliser.marked(proposal.code, name));
  if (auto status = check_frame(canonical, seed, name); !status) return status.error();
  TRY_ASSIGN(auto adoption,
             search::adopt_proposal(proposal, canonical,
                                    {parent.empty() ? seed : parent, {}, campaign.shape.entry}));
  if (const auto& problem = adoption.problem)
    return bad_input(fmt::format("{}: {}: {}", name, problem->kind, problem->reason));
  TRY_ASSIGN(auto source, normaliser.plain(adoption.kernel, name));
  TRY_ASSIGN(auto known, known_source(campaign, source));
  return CheckedProposal{known};
}

}  // namespace evolve
