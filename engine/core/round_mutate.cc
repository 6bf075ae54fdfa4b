#include "engine/core/round_mutate.h"

#include <fmt/format.h>

#include <map>

namespace evolve {

namespace {

// What one mutator proposes in a round.
struct Share {
  std::vector<std::string> ids;
  std::vector<std::string> places;  // in the round, from 0
};

std::map<std::string, Share> shares_of(const CampaignShape& shape, int round) {
  std::map<std::string, Share> out;
  const int first = (round - 1) * shape.variants + 1;
  for (int place = 0; place < shape.variants; ++place) {
    Share& share = out[mutator_of(shape, first + place)];
    share.ids.push_back(variant_id(first + place));
    share.places.push_back(std::to_string(place));
  }
  return out;
}

// An edge that writes the kernels of several variants, and takes no more than their ids: so what
// one mutator proposes for a round is decided once, in one place.
EdgeText proposals(const std::string& rule, const std::string& subject,
                   const std::vector<std::string>& ids, const std::string& folder) {
  EdgeText edge;
  edge.rule = rule;
  for (const std::string& id : ids) {
    edge.outputs.push_back(fmt::format("{}/{}/kernel.py", folder, id));
    edge.outputs.push_back(fmt::format("{}/{}/variant.json", folder, id));
  }
  edge.inputs = {"$work/spec.json", "$work/seed.py"};
  edge.bindings = {{"subject", subject},
                   {"flags", fmt::format("--spec $work/spec.json --seed $work/seed.py --ids {} "
                                         "--round-dir {}",
                                         fmt::join(ids, ","), folder)}};
  return edge;
}

void add_flags(EdgeText& edge, const std::string& flags) {
  edge.bindings.back().second += flags;
}

// What a round is proposed from.
void add_ancestry(EdgeText& edge, const CampaignShape& shape, int round) {
  add_flags(edge, fmt::format(" --round {} --random-seed {}", round, shape.random_seed));
  const Ancestry ancestry = ancestry_of(shape, round);
  if (ancestry.selection.empty()) return;
  edge.inputs.push_back(ancestry.selection);
  edge.inputs.push_back(ancestry.history);
  add_flags(edge,
            fmt::format(" --selection {} --history {}", ancestry.selection, ancestry.history));
  for (const std::string& lineage : ancestry.lineages) {
    edge.inputs.push_back(lineage);
    add_flags(edge, " --lineage " + lineage);
  }
}

}  // namespace

std::string round_folder(int round) {
  return fmt::format("$work/round-{}", round);
}

Ancestry ancestry_of(const CampaignShape& shape, int round) {
  if (round == 1) return {};
  const std::string folder = round_folder(round - 1);
  Ancestry out = {folder + "/selection.json", folder + "/history.jsonl", {}};
  for (int lineage = 1; lineage <= shape.survival.capacity(); ++lineage) {
    out.lineages.push_back(fmt::format("{}/lineage-{}.py", folder, lineage));
  }
  return out;
}

void write_seed_variant(const CampaignShape& /*shape*/, ManifestText& text) {
  EdgeText edge = proposals("mutate", variant_id(0), {variant_id(0)}, round_folder(0));
  edge.implicit = {"$steps/mutate"};
  add_flags(edge, " --mutator seed");
  text.add(edge);
}

void write_mutators(const CampaignShape& shape, int round, ManifestText& text) {
  const std::string folder = round_folder(round);
  for (const auto& [mutator, share] : shares_of(shape, round)) {
    const std::string subject = fmt::format("round-{} {}", round, mutator);
    const std::string places = fmt::format(" --places {}", fmt::join(share.places, ","));
    if (mutator == "sweep") {
      EdgeText edge = proposals("mutate", subject, share.ids, folder);
      edge.implicit = {"$steps/mutate"};
      add_flags(edge, fmt::format(" --mutator sweep --sampler {} --explore {}", shape.sampler,
                                  shape.explore) + places);
      add_ancestry(edge, shape, round);
      text.add(edge);
    } else {
      EdgeText edge = proposals("rewrite", subject, share.ids, folder);
      edge.implicit = {"$work/steps/rewrite.py"};
      edge.order_only = {"$work/steps/all"};
      add_ancestry(edge, shape, round);
      const std::string depfile = folder + "/rewrite.d";
      add_flags(edge, places + " --depfile " + depfile);
      edge.bindings.emplace_back("depfile", depfile);
      text.add(edge);
    }
  }
}

}  // namespace evolve
