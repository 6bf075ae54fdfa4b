// The proposal file: the proposal of a person, or of a program in a person's place, for a place of
// a round. It is v0011.py in the campaign's folder of proposals. A proposal file is a source, like
// the seed: people keep, edit and share it with the pipeline. Pure.
//
// The file is a kernel, or the content of its EVOLVE block. Lines at its very top may say more:
//
//   # evolve: parents: v0003, v0004      its parents; default: the place's own parent
//   # evolve: note: the sums in scratch  one line, for people and mutators
//   # evolve: pass: nothing to try       there is no kernel: the place stays without a variant
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/proposal/adoption.h"
#include "engine/search/variant.h"

namespace evolve::search {

struct ProposalFile {
  std::vector<VariantId> parents;  // empty: not given
  std::string note;
  std::optional<std::string> passed;  // why the proposal has no kernel
  std::string code;                   // the text below the heading
  size_t lines_above = 0;             // number of lines of the heading
};

// Reads a proposal file. Bad input, with the line: a line of the heading has another key, or a
// parent is not an id.
Result<ProposalFile> read_proposal_file(std::string_view text);
// Returns the text that read_proposal_file() reads.
std::string proposal_text(const ProposalFile& proposal);

// The maximum number of parents of a child.
constexpr size_t kMostParents = 8;

// Returns why these variants cannot be parents of a round's variants, as the problem `bad-parents`.
// Nullopt: they can be parents. `first` is the round's first variant; all of a campaign's variants
// with smaller ids are older.
std::optional<Problem> parents_problem(const std::vector<VariantId>& parents, VariantId first);

// Returns the kernel of a proposal as its parent's child. `canonical` is the proposal's code with
// the EVOLVE block's canonical markers, if it has a block. Problem `passed`: the proposal has no
// kernel. Other problems: as in adopt(). Bad input: the parent has no EVOLVE block.
Result<Adoption> adopt_proposal(const ProposalFile& proposal, std::string_view canonical,
                                const AdoptionContext& context);

}  // namespace evolve::search
