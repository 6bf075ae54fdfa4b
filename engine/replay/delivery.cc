#include "engine/replay/delivery.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/app/python.h"
#include "engine/app/results.h"
#include "engine/core/outside_json.h"
#include "engine/replay/bundle_reader.h"
#include "engine/replay/rerun.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/variant.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kWork = "$work/";

// Checks that a source makes the programs that were judged in a variant's folder, which lies below
// the campaign's folder `work`. Empty `source`: the kernel in that folder.
Status check_folder(const std::string& work, const std::string& folder, bool is_sandboxed,
                    std::string source = "") {
  if (source.empty()) source = work + "/" + folder + "/kernel.py";
  std::vector<std::string> words = {"--work", work, "--variant", folder, "--source", source};
  if (!is_sandboxed) words.emplace_back("--unsafe-no-sandbox");
  TRY_ASSIGN(auto told, run_python("delivery.delivered", words));
  auto parsed = parse_outside(told);
  if (!parsed || !parsed->is_object())
    return internal_error("delivered.py returned an invalid report");
  const json& differs = *parsed;
  if (differs.empty()) return {};
  Error error =
      failed(fmt::format("{}: the kernel to write differs from the judged kernel in {} cases",
                         fs::path(folder).filename().string(), differs.size()));
  for (const auto& [name, why] : differs.items()) {
    error.detail += fmt::format("{}{}: {}", error.detail.empty() ? "" : "\n", name,
                                why.is_string() ? why.get<std::string>() : "");
  }
  error.hint =
      "run evolve build to judge the kernel again, if Python, JAX or libtpu has changed since its "
      "round";
  return error;
}

// A variant's files from a recorded round, laid out as check_folder() reads them.
class RecordedVariant {
 public:
  RecordedVariant(Past& past, const PastRound& round)
      : past_(past),
        round_(round),
        scratch_(fmt::format("{}/delivery.{}", past.state->folder, ::getpid())) {}

  // Returns the id of the round's best variant; empty: nothing survived.
  Result<std::string> find_best() {
    const std::string path = fmt::format("round-{}/selection.json", round_.stored.round);
    if (auto status = place([&](const fs::path& file) { return file == path; }); !status)
      return std::move(status).error();
    const json record = read_json(scratch_.path() + "/" + path);
    if (!record.is_object()) return std::string();
    TRY_ASSIGN(auto selection, search::read_selection(record));
    return selection.survivors.empty() ? std::string()
                                       : selection.survivors.front().variant.id.text();
  }

  Status check(const std::string& variant) {
    std::string folder;
    auto is_needed = [&](const fs::path& file) {
      const std::string name = file.filename().string();
      const fs::path above = file.parent_path();
      if (file == "spec.json" || file == "secret") return true;
      if (name == "kernel.py") {
        if (above.filename() != variant) return false;
        folder = above.string();
        return true;
      }
      if (name == "signature.json") return true;
      if (name == "expected.npz" || name == "tolerance.json") return above.parent_path() == "cases";
      if (name == "lower.json" || name == "check.json")
        return above.parent_path().filename() == variant;
      return false;
    };
    TRY(place(is_needed));
    return check_folder(scratch_.path(), folder, true);
  }

 private:
  template <typename Wanted>
  Status place(Wanted is_wanted) {
    Placer placer(*past_.state);
    for (const RecordedFile& file : files_of(round_.record)) {
      if (!file.path.starts_with(kWork)) continue;
      const std::string below = file.path.substr(kWork.size());
      if (!is_wanted(fs::path(below))) continue;
      TRY(placer.place(file, scratch_.path(), below));
    }
    return placer.end();
  }

  Past& past_;
  const PastRound& round_;
  Scratch scratch_;
};

}  // namespace

Result<std::string> authored(const Campaign& campaign, const std::string& variant) {
  return run_python("delivery.authored", {"--seed", campaign.shape.files.seed, "--variant",
                                          campaign.folder_of(variant) + "/kernel.py"});
}

Result<std::string> deliver(const Campaign& campaign, const std::string& variant) {
  auto judged = world::read_file(campaign.folder_of(variant) + "/kernel.py");
  if (!judged) return judged;
  auto text = authored(campaign, variant);
  if (!text) return text;
  if (*text != *judged) {
    const Scratch scratch(fmt::format("{}/delivery.{}", campaign.work, ::getpid()));
    const std::string source = scratch.path() + "/kernel.py";
    world::DiskFiles files;
    TRY(files.make_folders(scratch.path()));
    TRY(files.write(source, *text));
    const int number = VariantId::parse(variant).value_or(VariantId()).number();
    auto status = check_folder(campaign.work, variant_folder(campaign.shape, number),
                               campaign.shape.is_sandboxed, source);
    if (status) return text;
  }
  TRY(check_delivery(campaign, variant));
  return judged;
}

Status check_delivery(const Campaign& campaign, const std::string& variant) {
  const int number = VariantId::parse(variant).value_or(VariantId()).number();
  return check_folder(campaign.work, variant_folder(campaign.shape, number),
                      campaign.shape.is_sandboxed);
}

Status check_delivery(Past& past, const PastRound& round) {
  RecordedVariant recorded(past, round);
  TRY_ASSIGN(auto best, recorded.find_best());
  return best.empty() ? Status{} : recorded.check(best);
}

}  // namespace evolve
