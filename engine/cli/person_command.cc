// `evolve propose`, `evolve edit` and `evolve round`: how a person, or a program in a person's
// place, proposes the variants that a pipeline leaves to people.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/authors/plans.h"
#include "engine/app/authors/proposals.h"
#include "engine/app/machine.h"
#include "engine/app/results.h"
#include "engine/campaign/generator/round_mutate.h"
#include "engine/cli/build_command.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/cli/plan_command.h"
#include "engine/core/json_text.h"
#include "engine/replay/delivery.h"
#include "engine/report/output.h"
#include "engine/report/table.h"
#include "engine/search/variant.h"
#include "engine/world/console.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"
#include "engine/world/signals.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct ProposeCommand {
  std::string file;     // the kernel; "-": stdin
  std::string variant;  // whose place the kernel takes; empty: the first open place
  std::string note;
  std::vector<std::string> parents;   // empty: as the file says, or else the place's own
  std::optional<std::string> passed;  // why there is no kernel; nullopt: there is a kernel
  bool replace = false;               // an earlier proposal
};

struct RoundCommand {
  std::string round;
  bool waits = true;  // until every place has a proposal, and every plan a decision
};

// The interval at which an open round looks for new files. The files may come from other machines,
// and a file system does not report such files.
constexpr int kLookMilliseconds = 300;

Result<std::string> read_given(const std::string& file) {
  if (file != "-") return world::load_text(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// The parts of a round that wait for people.
struct OpenRound {
  std::vector<PersonPlace> places;
  std::vector<VariantPlan> plans;
};

Result<OpenRound> open_round(const Campaign& campaign, int round) {
  OpenRound out;
  TRY_ASSIGN(auto places, places_of(campaign, round));
  out.places = std::move(places);
  TRY_ASSIGN(auto plans, plans_of(campaign, round, round));
  out.plans = std::move(plans);
  if (out.places.empty() && out.plans.empty())
    return no_places(campaign, fmt::format(" in round-{}", round));
  return out;
}

// A file that an open round waits for.
struct Awaited {
  std::string id;
  std::string path;
  const char* what;                  // the event that the file shows
  std::optional<PersonPlace> place;  // of a proposal, which is checked; nullopt: a plan
  std::string refused = {};          // the last text that was rejected and reported
};

std::vector<Awaited> awaited_in(const OpenRound& round) {
  std::vector<Awaited> out;
  for (const PersonPlace& one : round.places) {
    if (one.is_open) out.push_back({one.id, one.path, "proposed", one});
  }
  for (const VariantPlan& one : round.plans) {
    if (one.state == PlanState::open) out.push_back({one.id, one.path, "decided", std::nullopt});
  }
  return out;
}

// Stores a proposal in its place, and reports that.
Status store(const CommonOptions& common, const Campaign& campaign, const PersonPlace& place,
             const search::ProposalFile& proposal, const CheckedProposal& checked) {
  world::DiskFiles files;
  TRY(files.make_folders(fs::path(place.path).parent_path().string()));
  TRY(files.write(place.path, search::proposal_text(proposal)));
  TRY_ASSIGN(auto waiting, waiting_in(campaign, place.round));
  const std::vector<std::string>& open = waiting;
  json report = {
      {"variant", place.id}, {"round", place.round}, {"file", place.path}, {"open", open}};
  if (checked.known_as) report["known_as"] = *checked.known_as;
  std::string text = fmt::format("{}: {} {}\n", place.id,
                                 proposal.passed ? "passed in" : "proposed in", place.path);
  if (checked.known_as) {
    text += fmt::format("       the source equals that of {}: the variant gets the same results\n",
                        *checked.known_as);
  }
  text += fmt::format("       {}\n", next_step(place.round, open));
  print_result(common, report, text);
  return {};
}

Status check_free(const PersonPlace& place, bool replace) {
  if (place.is_open || replace) return {};
  return bad_input(fmt::format("{}: already has a proposal: {}", place.id, place.path), "",
                   "--replace replaces the proposal");
}

// Proposes the text of a file that the person knows as `name`.
Status propose(const CommonOptions& common, const Campaign& campaign, const PersonPlace& place,
               const std::string& text, const std::string& name, const ProposeCommand& command) {
  auto proposal = search::read_proposal_file(text);
  if (!proposal) return std::move(proposal).error().within(name);
  if (!command.note.empty()) proposal->note = command.note;
  if (!command.parents.empty()) {
    proposal->parents.clear();
    for (const std::string& word : command.parents) {
      const auto id = VariantId::parse(word);
      if (!id) {
        return bad_input(fmt::format("parent '{}': this variant was not built", word), "",
                         "evolve log names those that survive");
      }
      proposal->parents.push_back(*id);
    }
  }
  if (command.passed) proposal->passed = command.passed;
  TRY_ASSIGN(auto checked, check_proposal(campaign, place, *proposal, name));
  return store(common, campaign, place, *proposal, checked);
}

// Returns a variant's kernel as a proposal, for an editor.
std::string draft_of(VariantId variant, const std::string& kernel, const std::string& note) {
  search::ProposalFile out;
  out.parents = {variant};
  out.note = note;
  out.code = kernel;
  // Adds a line in which the person can write the note.
  return (note.empty() ? "# evolve: note: \n" : "") + search::proposal_text(out);
}

json place_record(const PersonPlace& place) {
  json out = {{"variant", place.id}, {"file", place.path}, {"open", place.is_open}};
  if (!place.parent.empty()) {
    out["parent"] = place.parent;
    out["parent_kernel"] = place.parent_path;
  }
  return out;
}

void tell_places(int round, const std::vector<PersonPlace>& places) {
  std::vector<std::vector<std::string>> rows = {{"place", "parent", "parent's kernel", "proposal"}};
  bool is_open = false;
  for (const PersonPlace& one : places) {
    rows.push_back({one.id, one.parent, one.parent_path, one.is_open ? "-" : one.path});
    is_open = is_open || one.is_open;
  }
  print_out(fmt::format("{}\n", table(rows, "  ")));
  if (!is_open) return;
  print_out(
      fmt::format("  run evolve propose --file K.py --note \"…\", or evolve edit {}; evolve round "
                  "close {} leaves the open places empty\n",
                  places.front().parent, round));
}

void tell_plans(int round, const std::vector<VariantPlan>& plans) {
  print_out(fmt::format("{}\n", plan_table(plans)));
  const auto waits = std::find_if(plans.begin(), plans.end(), [](const VariantPlan& one) {
    return one.state == PlanState::open;
  });
  if (waits == plans.end()) return;
  print_out(
      fmt::format("  run evolve plan show {}, then evolve plan approve, edit or reject; evolve "
                  "round close {} rejects the remaining plans\n",
                  waits->id, round));
}

void tell_round(const CommonOptions& common, int number, const OpenRound& round) {
  if (common.json) {
    json event = {{"event", "open"}, {"round", number}, {"places", json::array()}};
    for (const PersonPlace& one : round.places) event["places"].push_back(place_record(one));
    for (const VariantPlan& one : round.plans) event["plans"].push_back(plan_report(one));
    print_out(json_line(event) + "\n");
    return;
  }
  print_out(fmt::format("round-{}\n\n", number));
  if (!round.places.empty()) tell_places(number, round.places);
  if (!round.plans.empty()) tell_plans(number, round.plans);
}

void tell_there(const CommonOptions& common, const Awaited& one) {
  if (common.json) {
    print_out(json_line(json({{"event", one.what}, {"variant", one.id}, {"file", one.path}})) +
              "\n");
  } else {
    print_out(fmt::format("{}: {} in {}\n", one.id, one.what, one.path));
  }
}

// Whether an awaited file has come. A rejected proposal may be a half-written file, so the
// rejection is reported once, and the file is still awaited.
bool has_come(const CommonOptions& common, const Campaign& campaign, Awaited& one) {
  std::error_code error;
  if (!fs::is_regular_file(one.path, error)) return false;
  if (!one.place) return true;
  auto text = world::read_file(one.path);
  if (text && *text == one.refused) return false;
  auto proposal =
      text ? search::read_proposal_file(*text) : Result<search::ProposalFile>(text.error());
  auto checked = proposal ? check_proposal(campaign, *one.place, *proposal, one.path)
                          : Result<CheckedProposal>(std::move(proposal).error());
  if (checked) return true;
  if (text) one.refused = *std::move(text);
  const std::string why = checked.error().message;
  if (common.json) {
    const json event = {
        {"event", "not_taken"}, {"variant", one.id}, {"file", one.path}, {"reason", why}};
    print_out(json_line(event) + "\n");
  } else {
    print_out(fmt::format("{}: rejected: {}\n", one.id, why));
  }
  return false;
}

// Waits until all files are there, and reports each file as it comes.
Status wait_for_all(const CommonOptions& common, const Campaign& campaign,
                    std::vector<Awaited> awaited, int round) {
  while (!awaited.empty()) {
    pollfd interrupt = {world::interrupt_descriptor(), POLLIN, 0};
    ::poll(&interrupt, 1, kLookMilliseconds);
    if (world::was_interrupted()) {
      std::vector<std::string> ids;
      ids.reserve(awaited.size());
      for (const Awaited& one : awaited) ids.push_back(one.id);
      return interrupted_error(fmt::format("interrupted: {}", next_step(round, ids)),
                               fmt::format("evolve round open {}", round));
    }
    std::erase_if(awaited, [&](Awaited& one) {
      if (!has_come(common, campaign, one)) return false;
      tell_there(common, one);
      return true;
    });
  }
  if (!common.json) print_out(next_step(round, {}) + "\n");
  return {};
}

// Returns the targets that must be built before a person's part of a round: the round before, and
// the round's own plans.
std::vector<std::string> built_before(const Campaign& campaign, int round) {
  std::vector<std::string> out;
  if (round > 1) out.push_back(fmt::format("round-{}", round - 1));
  for (const int number : planned_variants(campaign.shape, round, round)) {
    const std::string id = VariantId(number).text();
    out.push_back(plan_files(campaign.shape, id, campaign.folder_of(id)).exchange);
  }
  return out;
}

// Checks the kernel, and puts it into the campaign's folder of proposals.
Status run_propose(const CommonOptions& common, const ProposeCommand& command) {
  if (command.file.empty() && !command.passed)
    return bad_input("propose: the kernel is missing", "",
                     "use --file K.py, or --pass \"why not\"");
  std::string text;
  if (!command.file.empty()) {
    // The file is read before open_campaign() changes to the project's root.
    auto given = read_given(command.file);
    if (!given) return std::move(given).error().within(command.file);
    text = *std::move(given);
  }
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto place, find_place(campaign, command.variant));
  TRY(check_free(place, command.replace));
  return propose(common, campaign, place, text, command.file == "-" ? "stdin" : command.file,
                 command);
}

// Opens an editor ($VISUAL, $EDITOR, or vi) on a variant's kernel, and proposes the edited kernel.
// A text that cannot be proposed is kept, and the message names its file.
Status run_edit(const CommonOptions& common, const std::string& variant, ProposeCommand command) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto place, find_place(campaign, command.variant));
  TRY(check_free(place, command.replace));
  TRY(built_folder(campaign, variant));
  const auto id = VariantId::parse(variant);
  if (!id) return bad_input(fmt::format("'{}' is no variant's id", variant));
  TRY_ASSIGN(auto kernel, authored(campaign, variant));
  // The draft lies next to the proposals, because a clean-up of the state folder must not remove a
  // person's work.
  const std::string proposals = fs::absolute(campaign.shape.files.proposals).string();
  const std::string path = fmt::format("{}/{}-{}.draft.py", proposals, place.id, variant);
  const std::string begun = draft_of(*id, kernel, command.note);
  world::DiskFiles files;
  // A draft that could not be proposed before is continued.
  if (!world::is_there(path)) {
    TRY(files.make_folders(proposals));
    TRY(files.write(path, begun));
  }
  TRY(world::run_on_console(editor_line(path)));
  TRY_ASSIGN(auto edited, world::read_file(path));
  if (edited == begun) {
    TRY(files.remove(path));
    return bad_input(
        fmt::format("{}: the kernel was not changed, so nothing is proposed", variant));
  }
  command.note.clear();  // the text has the note
  auto status = propose(common, campaign, place, edited, path, command);
  if (status) return files.remove(path);
  Error error = std::move(status).error();
  error.hint = fmt::format("evolve edit {} --variant {} opens your text again, which is kept in {}",
                           variant, place.id, path);
  return error;
}

// Builds the round before and this round's plans. Prints the places that wait for a kernel, with
// their parents, and the plans that wait for a decision. Then waits for both.
Status run_round_open(const CommonOptions& given, const BuildCommand& build,
                      const RoundCommand& command, int round) {
  CommonOptions common = given;
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY(open_round(campaign, round));
  BuildCommand before = build;
  before.targets = built_before(campaign, round);
  if (!before.targets.empty()) {
    common.campaign = reopening(common.campaign, campaign);
    TRY(run_build(common, before));
  }
  TRY_ASSIGN(auto opened, open_round(campaign, round));
  tell_round(common, round, opened);
  const auto awaited = awaited_in(opened);
  if (!command.waits || awaited.empty()) return {};
  world::watch_interrupts();
  return wait_for_all(common, campaign, awaited, round);
}

// Gives up the open places, and rejects the plans that wait.
Status run_round_close(const CommonOptions& common, int round) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto opened, open_round(campaign, round));
  for (const VariantPlan& one : opened.plans) {
    if (one.state == PlanState::unasked) {
      return bad_input(fmt::format("{}: no model has written its plan yet", one.id), "",
                       fmt::format("evolve round open {}", round));
    }
  }
  const std::string why = "the round was closed";
  for (const PersonPlace& one : opened.places) {
    if (!one.is_open) continue;
    search::ProposalFile none;
    none.passed = why;
    TRY(store(common, campaign, one, none, {}));
  }
  for (const VariantPlan& one : opened.plans) {
    if (one.state != PlanState::open) continue;
    auto status = decide(common, campaign, one, {false, why, one.text()});
    if (!status) return status;
  }
  return {};
}

void add_proposal_options(Parser command, ProposeCommand& options) {
  command.add("--note", options.note, "one line on what is new; models read it, too");
  command.add("--variant", options.variant,
              "the place to fill, for example v0007 (default: the first open place)");
  command.add("--replace", options.replace, "replace the place's existing proposal");
}

}  // namespace

void add_propose(Commands& commands) {
  auto propose = commands.add(
      "propose", "propose a kernel for a place: a variant that a round leaves to a person");
  auto options = std::make_shared<ProposeCommand>();
  propose.add("--file", options->file,
              "the file with the whole kernel, or only its EVOLVE block; - reads stdin");
  propose.add("--parent", options->parents,
              "the variants that the kernel was made from (default: the parent that 'evolve round "
              "open' prints)");
  propose.add("--pass", options->passed, "leave the place empty, for this reason");
  add_proposal_options(propose, *options);
  commands.add_common(propose);
  commands.on(propose,
              [options](const CommonOptions& common) { return run_propose(common, *options); });
}

void add_edit(Commands& commands) {
  auto edit = commands.add(
      "edit",
      "open a variant's kernel in an editor ($VISUAL, $EDITOR or vi), and propose the result");
  auto options = std::make_shared<ProposeCommand>();
  auto from = std::make_shared<std::string>();
  edit.add("from", *from, "the variant to start from, for example v0007")
      .names("variant")
      .required();
  add_proposal_options(edit, *options);
  commands.add_common(edit);
  commands.on(edit, [options, from](const CommonOptions& common) {
    return run_edit(common, *from, *options);
  });
}

void add_round(Commands& commands) {
  auto round = commands.add(
      "round", "open or close a round for people's proposals and decisions: open, close");
  round.require_command();
  auto build = std::make_shared<BuildCommand>();
  auto options = std::make_shared<RoundCommand>();
  auto open = round.add_command("open",
                                "build the previous round, list the open places and plans, "
                                "and wait until each has a proposal or a decision");
  open.add_off("--no-wait", options->waits, "list the open places and plans, but do not wait");
  add_build_options(commands, open, *build);
  auto close =
      round.add_command("close", "leave the round's open places empty, and reject its open plans");
  for (Parser command : {open, close}) {
    command.add("round", options->round, "the round: N or round-N").names("round").required();
    commands.add_common(command);
  }
  commands.on(open, [build, options](const CommonOptions& common) -> Status {
    TRY_ASSIGN(auto number, round_number(options->round));
    return run_round_open(common, *build, *options, number);
  });
  commands.on(close, [options](const CommonOptions& common) -> Status {
    TRY_ASSIGN(auto number, round_number(options->round));
    return run_round_close(common, number);
  });
}

}  // namespace evolve::cli
