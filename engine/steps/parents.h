// The parents of a round's variants, place by place, as the selection of the round before chose
// them.
#pragma once

#include <string>
#include <vector>

#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace evolve::steps {

// The files that a round starts from.
struct ParentFiles {
  std::string seed;                   // the seed's kernel
  std::string selection;              // of the round before; empty: no round before
  std::vector<std::string> lineages;  // kernels of that round's survivors, in their order

  void add_options(CommandLine& line) {
    line.add("--seed", seed, "the seed's source").required();
    line.add("--selection", selection, "selection.json of the previous round");
    line.add("--lineage", lineages, "the survivors' sources, in order");
  }
};

struct ParentFile {
  VariantId id;
  std::string path;
  std::string structure = {};  // empty: not known
  bool has_parameters = true;
  size_t lineage = 0;  // number of the lineage, from 1; 0: the seed
  int island = 0;      // 0: no islands
};

// The possible parents of a round's variants, and the parent of each place.
class Parents {
 public:
  static Result<Parents> read(const ParentFiles& files) {
    Parents out;
    out.seed_ = {.id = VariantId(), .path = files.seed};
    if (files.selection.empty()) return out;
    TRY_ASSIGN(auto previous, read_previous(files.selection));
    for (size_t i = 0; i < std::min(previous.survivors.size(), files.lineages.size()); ++i) {
      const search::Evaluated& variant = previous.survivors[i].variant;
      out.survivors_.push_back({variant.id, files.lineages[i], variant.structure,
                                !variant.parameters.empty(), i + 1, previous.survivors[i].island});
    }
    out.previous_ = std::move(previous);
    return out;
  }

  // Returns the selection of the round before. Empty: there was no round before.
  [[nodiscard]] const search::Selection& previous() const { return previous_; }
  [[nodiscard]] const ParentFile& seed() const { return seed_; }
  // Returns the survivor to which the selection gave the place; without such a survivor, the seed.
  [[nodiscard]] const ParentFile& of_place(size_t place) const {
    const size_t number = previous_.parent_of(place);
    return number == 0 || number > survivors_.size() ? seed_ : survivors_[number - 1];
  }
  // Returns the next survivor, in a ring, that is not the place's own parent. Null: there is no
  // other survivor, or the place's own parent is the seed.
  [[nodiscard]] const ParentFile* beside(size_t place) const {
    const ParentFile& own = of_place(place);
    for (size_t i = 0; own.lineage > 0 && i < survivors_.size(); ++i) {
      const ParentFile& next = survivors_[(own.lineage + i) % survivors_.size()];
      if (next.id != own.id) return &next;
    }
    return nullptr;
  }
  // Finds a survivor or the seed by id. Null: the id is unknown.
  [[nodiscard]] const ParentFile* find(VariantId id) const {
    for (const ParentFile& one : survivors_) {
      if (one.id == id) return &one;
    }
    return id == seed_.id ? &seed_ : nullptr;
  }

 private:
  ParentFile seed_;
  std::vector<ParentFile> survivors_;
  search::Selection previous_;
};

}  // namespace evolve::steps
