// `evolve learnings`: the accepted and the proposed learnings of a campaign, and a person's
// decisions on them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/app/results.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/report/output.h"
#include "engine/report/table.h"
#include "engine/search/learning/learn.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

struct LearningsCommand {
  std::vector<std::string> handles;  // of proposals, "v0012" or "v0012.1"; or ids, "S003"
  std::string kind;                  // "failure", "success"; empty: the kind in the list
};

// The state of a campaign's learnings.
struct Standing {
  Campaign campaign;
  int round = 0;     // the last round that was built; 0: none
  std::string file;  // the person's text; empty: no file
  search::Lessons lessons;
};

Result<search::Lessons> learn_from(const Campaign& campaign, int round,
                                   const search::Learnings& by_person) {
  if (round == 0) return search::Lessons{by_person, {}};
  TRY_ASSIGN(auto history, history_of(campaign, round));
  TRY_ASSIGN(auto selection, selection_of(campaign, round));
  if (!selection) return external("no selection.json");
  TRY_ASSIGN(auto rule, search::learn_rule(*selection, read_json(campaign.work + "/spec.json"),
                                           campaign.shape.pipeline.learn.effect));
  return search::learn(history, by_person, rule);
}

Result<Standing> stand(const CommonOptions& common) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  Standing out;
  out.campaign = std::move(campaign);
  out.round = last_round(out.campaign);
  if (!out.campaign.shape.files.learnings.empty()) {
    TRY_ASSIGN(auto text, world::read_file(out.campaign.shape.files.learnings));
    out.file = std::move(text);
  }
  TRY_ASSIGN(auto lessons, learn_from(out.campaign, out.round, search::parse_learnings(out.file)));
  out.lessons = std::move(lessons);
  return out;
}

const char* kind_name(search::LearningKind kind) {
  return kind == search::LearningKind::failure ? "failure" : "success";
}

search::LearningKind kind_of(const std::string& name) {
  return name == kind_name(search::LearningKind::failure) ? search::LearningKind::failure
                                                          : search::LearningKind::success;
}

json record_of(const search::Learning& learning) {
  json out = {{"kind", kind_name(learning.kind)},
              {"title", learning.title},
              {"fields", json::array()},
              {"evidence", json::array()}};
  if (!learning.id.empty()) out["id"] = learning.id;
  if (learning.is_rejected) out["rejected"] = true;
  for (const search::LearningField& field : learning.fields)
    out["fields"].push_back({{"name", field.name}, {"text", field.text}});
  for (const search::Evidence& one : learning.evidence) out["evidence"].push_back(one.variant);
  return out;
}

std::string evidence_words(const search::Learning& learning) {
  constexpr size_t kShown = 3;
  std::string out;
  for (size_t i = 0; i < std::min(kShown, learning.evidence.size()); ++i)
    out += (i == 0 ? "" : ", ") + learning.evidence[i].variant.text();
  if (learning.evidence.size() > kShown)
    out += fmt::format(" and {} more", learning.evidence.size() - kShown);
  return out;
}

std::string text_of(const Standing& standing) {
  std::vector<std::vector<std::string>> known = {{"known", "kind", "seen in", ""}};
  for (const search::Learning& one : standing.lessons.accepted.entries) {
    if (!one.is_rejected)
      known.push_back({one.id, kind_name(one.kind), evidence_words(one), one.title});
  }
  std::vector<std::vector<std::string>> proposed = {{"proposed", "kind", "outcome", ""}};
  for (const search::ProposedLearning& one : standing.lessons.proposed)
    proposed.push_back({one.handle, kind_name(one.learning.kind), one.outcome, one.learning.title});
  std::string out;
  for (const auto* rows : {&known, &proposed}) {
    if (rows->size() > 1) out += (out.empty() ? "" : "\n") + table(*rows, "  ");
  }
  return out.empty() ? "no learnings yet\n" : out;
}

// Finds the proposal that a handle names. With `takes_accepted`, also finds an accepted entry by
// its id.
Result<search::Learning> find_entry(const Standing& standing, const std::string& handle,
                                    bool takes_accepted) {
  std::vector<std::string> known;
  for (const search::ProposedLearning& one : standing.lessons.proposed) {
    if (one.handle == handle) return one.learning;
    known.push_back(one.handle);
  }
  for (const search::Learning& one : standing.lessons.accepted.entries) {
    if (!takes_accepted || one.is_rejected) continue;
    if (one.id == handle) return one;
    known.push_back(one.id);
  }
  auto near = nearest(handle, known);
  return bad_input(fmt::format("no learning named '{}'{}", handle,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", "evolve learnings lists all learnings");
}

// Returns the entries that the handles name, each once.
Result<std::vector<search::Learning>> find_entries(const Standing& standing,
                                                   const std::vector<std::string>& handles,
                                                   bool takes_accepted) {
  std::vector<search::Learning> out;
  for (auto it = handles.begin(); it != handles.end(); ++it) {
    if (std::find(handles.begin(), it, *it) != it) continue;
    TRY_ASSIGN(auto entry, find_entry(standing, *it, takes_accepted));
    out.push_back(std::move(entry));
  }
  return out;
}

// Adds entries to the person's file.
Status keep(const CommonOptions& common, const Standing& standing,
            std::vector<search::Learning> entries) {
  const std::string& path = standing.campaign.shape.files.learnings;
  if (path.empty()) {
    return bad_input(fmt::format("{}: the pipeline names no file for people's learnings",
                                 shown_path(standing.campaign.path)),
                     "",
                     "add learn: { file: learnings.md } to the pipeline, and create an empty "
                     "learnings.md next to it");
  }
  const search::Learnings mine = search::parse_learnings(standing.file);
  // Entries that the rule has numbered keep their numbers.
  std::vector<search::Learning> numbered = standing.lessons.accepted.entries;
  std::string file = standing.file, text;
  json report = {{"file", path}, {"entries", json::array()}};
  for (search::Learning& entry : entries) {
    const bool is_mine = std::any_of(
        mine.entries.begin(), mine.entries.end(),
        [&](const search::Learning& one) { return !entry.id.empty() && one.id == entry.id; });
    if (is_mine) {
      return bad_input(fmt::format("{}: '{}' is already in the file", path, entry.id), "",
                       "edit the file to change the entry");
    }
    if (entry.id.empty()) entry.id = search::free_id(numbered, entry.kind);
    numbered.push_back(entry);
    entry.fields.push_back(
        {"Since", fmt::format("round {}, {}", standing.round, standing.campaign.spec.name)});
    file = search::with_learning(file, entry);
    report["entries"].push_back(record_of(entry));
    text += fmt::format("{}: [{}] {}\n", path, entry.id, entry.title);
  }
  TRY(world::write_file_atomic(path, file));
  print_result(common, report, text);
  return {};
}

// Lists the accepted and the proposed learnings.
Status run_learnings(const CommonOptions& common) {
  TRY_ASSIGN(auto standing, stand(common));
  json report = {{"round", standing.round}, {"known", json::array()}, {"proposed", json::array()}};
  for (const search::Learning& one : standing.lessons.accepted.entries)
    report["known"].push_back(record_of(one));
  for (const search::ProposedLearning& one : standing.lessons.proposed) {
    json record = record_of(one.learning);
    record["handle"] = one.handle;
    record["outcome"] = one.outcome;
    report["proposed"].push_back(std::move(record));
  }
  print_result(common, report, text_of(standing));
  return {};
}

// Puts proposals into the person's file (the pipeline's learn.file): all of them, or none if one is
// bad input. Mutators see them from the next round on.
Status run_learnings_accept(const CommonOptions& common, const LearningsCommand& command) {
  TRY_ASSIGN(auto standing, stand(common));
  TRY_ASSIGN(auto entries, find_entries(standing, command.handles, false));
  for (search::Learning& entry : entries) {
    if (!command.kind.empty()) entry.kind = kind_of(command.kind);
  }
  return keep(common, standing, std::move(entries));
}

// Puts entries into the person's file as rejected: proposals, or entries that the rule accepted (by
// id, which they keep). Mutators no longer see them from the next round on.
Status run_learnings_reject(const CommonOptions& common, const LearningsCommand& command) {
  TRY_ASSIGN(auto standing, stand(common));
  TRY_ASSIGN(auto entries, find_entries(standing, command.handles, true));
  for (search::Learning& entry : entries) entry.is_rejected = true;
  return keep(common, standing, std::move(entries));
}

}  // namespace

void add_learnings(Commands& commands) {
  auto learnings = commands.add(
      "learnings",
      "list what the campaign has learned, and what is proposed as learned: accept, reject");
  auto options = std::make_shared<LearningsCommand>();
  auto accept = learnings.add_command(
      "accept", "add proposed learnings to the file that the pipeline's learn.file names");
  auto reject = learnings.add_command(
      "reject", "mark learnings as rejected in the file that the pipeline's learn.file names");
  for (Parser command : {accept, reject}) {
    command
        .add("which", options->handles, "the learnings' names, as 'evolve learnings' prints them")
        .required();
    commands.add_common(command);
  }
  accept.add("--as", options->kind, "the learnings' kind, if the listed kind is wrong")
      .one_of({"failure", "success"});
  commands.add_common(learnings);
  commands.on(learnings, run_learnings);
  commands.on(accept, [options](const CommonOptions& common) {
    return run_learnings_accept(common, *options);
  });
  commands.on(reject, [options](const CommonOptions& common) {
    return run_learnings_reject(common, *options);
  });
}

}  // namespace evolve::cli
