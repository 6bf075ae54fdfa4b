#include "engine/replay/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/app/machine.h"

namespace evolve {

namespace {

using nlohmann::json;

Conditions conditions_of(int run, const std::string& folder, const std::string& python) {
  static constexpr std::array kZones = {"America/St_Johns", "Asia/Kathmandu", "UTC",
                                        "Pacific/Chatham"};
  static constexpr std::array kLocales = {"C", "POSIX", "C.UTF-8"};
  const auto number = static_cast<size_t>(run);
  Conditions out;
  out.python = python;
  out.environment = {{"PYTHONHASHSEED", std::to_string(run)},
                     {"TZ", kZones[number % kZones.size()]},
                     {"LC_ALL", kLocales[number % kLocales.size()]},
                     {"HOME", folder},
                     {"TMPDIR", folder + "/tmp"},
                     {"PATH", folder + "/nothing:" + command_environment()["PATH"]}};
  out.order_seed = number;
  // Odd runs do one edge at a time, even runs several.
  out.jobs = run % 2 == 1 ? 1 : usable_cores() + 1;
  return out;
}

// Returns the first bytes in a form for people: as 'ab.', or in hex if they are not text.
std::string shown_bytes(std::string_view bytes) {
  constexpr size_t kShown = 12;
  bytes = bytes.substr(0, kShown);
  const bool is_text = std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return c == '\n' || std::isprint(static_cast<unsigned char>(c)) != 0;
  });
  std::string out;
  for (char c : bytes) {
    if (!is_text) {
      out += fmt::format("{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c == '\n' ? "\\n" : std::string(1, c);
    }
  }
  return bytes.empty() ? "the end" : is_text ? fmt::format("'{}'", out) : out;
}

// The outcome of running a round again.
struct Comparison {
  json differences = json::array();
  size_t pure = 0;   // steps
  size_t facts = 0;  // measured or recorded steps, taken as they were
  int ran = 0;       // commands
  int behind = 0;    // steps whose key differs because an earlier step differs
  [[nodiscard]] bool is_same() const { return differences.empty() && behind == 0; }
};

std::string text_of(const json& differences) {
  std::string out;
  for (const json& one : differences) {
    out += fmt::format("differs: {} {}: {}\n", one["step"].get<std::string>(),
                       one["subject"].get<std::string>(), one["where"].get<std::string>());
    if (one.contains("run")) out += fmt::format("  {}\n", one["run"].get<std::string>());
  }
  return out;
}

// Returns a text such as "$work/x: first at byte 12, line 3: 'a' -> 'b'".
std::string first_difference(const RecordedFile& file, const std::string& was,
                             const std::string& now) {
  const size_t most = std::min(was.size(), now.size());
  const auto at = static_cast<size_t>(
      std::mismatch(was.begin(), was.begin() + static_cast<long>(most), now.begin()).first -
      was.begin());
  std::string out = fmt::format("{}: first at byte {}", file.path, at);
  if (was.find('\0') == std::string::npos) {
    out += fmt::format(", line {}",
                       1 + std::count(was.begin(), was.begin() + static_cast<long>(at), '\n'));
  }
  return fmt::format("{}: {} -> {}", out, shown_bytes(std::string_view(was).substr(at)),
                     shown_bytes(std::string_view(now).substr(at)));
}

// Finds the steps that differ, and where each begins to differ. Steps that differ only because of
// an earlier step are counted, but not listed.
Result<Comparison> compare(const PastRound& past, const Record& record, Rerun& rerun) {
  std::map<std::string, const RecordedStep*> steps_to_run;
  for (const RecordedStep& step : record.steps) steps_to_run[step.outputs.front().path] = &step;
  Comparison out;
  out.facts = rerun.taken_over();
  out.pure = past.record.steps.size() - out.facts;
  out.ran = rerun.summary().ran;
  for (const RecordedStep& step : past.record.steps) {
    auto other = steps_to_run.find(step.outputs.front().path);
    if (other == steps_to_run.end() || other->second->key != step.key) {
      ++out.behind;
      continue;
    }
    auto differing = std::mismatch(step.outputs.begin(), step.outputs.end(),
                                   other->second->outputs.begin(), other->second->outputs.end());
    if (differing.first == step.outputs.end()) continue;
    TRY_ASSIGN(auto before, rerun.bytes_before(*differing.first));
    TRY_ASSIGN(auto now, rerun.bytes_now(*differing.first));
    out.differences.push_back({{"step", step.step},
                               {"subject", step.subject},
                               {"where", first_difference(*differing.first, before, now)}});
  }
  return out;
}

Result<Comparison> run_pure_steps(const CampaignFlags& common, const PastRound& past, State& from,
                                  const Machine& machine, const Conditions& conditions,
                                  const std::string& folder, Judge judge) {
  Rerun rerun(common, past, from, machine, conditions, StepsToRun::pure_steps, judge);
  TRY_ASSIGN(auto record, rerun.run(folder));
  return compare(past, record, rerun);
}

}  // namespace

Result<Answer> verify(const CampaignFlags& common, const PastRound& past, State& from,
                      const Machine& machine, const std::string& folder, Judge judge) {
  TRY_ASSIGN(auto found,
             run_pure_steps(common, past, from, machine, default_conditions(), folder, judge));
  std::string text = text_of(found.differences);
  text += fmt::format("{}, record {}: {} pure steps ran again, in {} commands", past.name(),
                      past.stored.id, found.pure, found.ran);
  if (found.facts > 0) {
    text += fmt::format(", {} measured or recorded steps {}", found.facts,
                        judge == Judge::recorded ? "were reused" : "were trusted");
  }
  text += fmt::format(": {} differences", found.differences.size());
  if (found.behind > 0) text += fmt::format(", and {} steps that depend on them", found.behind);
  text += judge_note(judge);
  Answer answer{{{"round", past.stored.round},
                 {"campaign", past.stored.campaign},
                 {"record", past.stored.id},
                 {"pure_steps", found.pure},
                 {"commands_run", found.ran},
                 {"facts", found.facts},
                 {"is_their_judge", judge == Judge::theirs},
                 {"steps_behind", found.behind},
                 {"differences", found.differences}},
                text + "\n"};
  if (!(found.is_same()))
    answer.failure = failed(
        fmt::format("{}: the round does not repeat; the files are in {}", past.name(), folder));
  return answer;
}

Result<Answer> check_determinism(const CampaignFlags& common, const PastRound& past, State& from,
                                 const Machine& machine, const std::string& folder, int times,
                                 Judge judge) {
  json differences = json::array();
  size_t pure = 0;
  bool is_same = true;
  // Each run changes the current folder, so the interpreter is found before the first run.
  const std::string python = default_conditions().python;
  for (int run = 1; run <= times; ++run) {
    // The paths of the runs' folders differ in length, too.
    const std::string its =
        fmt::format("{}/{}", folder, std::string(static_cast<size_t>(run), 'x'));
    const Conditions conditions = conditions_of(run, its, python);
    TRY_ASSIGN(auto found, run_pure_steps(common, past, from, machine, conditions, its, judge));
    pure = found.pure;
    is_same = is_same && found.is_same();
    for (json& one : found.differences) {
      one["run"] = conditions.text();
      differences.push_back(std::move(one));
    }
  }
  Answer answer{{{"round", past.stored.round},
                 {"campaign", past.stored.campaign},
                 {"record", past.stored.id},
                 {"pure_steps", pure},
                 {"runs", times},
                 {"is_their_judge", judge == Judge::theirs},
                 {"differences", differences}},
                text_of(differences) +
                    fmt::format("{}: {} pure steps, {} times: {} differences{}\n", past.name(),
                                pure, times, differences.size(), judge_note(judge))};
  if (!(is_same))
    answer.failure = failed(fmt::format("{}: the round is not deterministic; the files are in {}",
                                        past.name(), folder));
  return answer;
}

}  // namespace evolve
