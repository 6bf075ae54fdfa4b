// What a person, or a program in a person's place, proposes for a place of a round: a file of the
// campaign's folder of proposals, v0011.py. It is a source, as the seed is: kept, edited and shared
// with the pipeline. Pure.
//
// The file is a kernel, or what stands in its EVOLVE block. Lines at its very top may say more:
//
//   # evolve: parents: v0003, v0004      whose child it is; else of the place's own parent
//   # evolve: note: the sums in scratch  one line, for people and mutators
//   # evolve: pass: nothing to try       there is no kernel: the place stays without a variant
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/proposal/adoption.h"

namespace evolve::search {

struct ProposalFile {
  std::vector<std::string> parents;  // ids; empty: not said
  std::string note;
  std::optional<std::string> passed;  // why there is no kernel
  std::string code;                   // what follows the lines at the top
  size_t lines_above = 0;             // how many these are
};

// Bad input, with the line: a line at the top says something else, or parents are no ids.
Result<ProposalFile> read_proposal_file(std::string_view text);
// The text that is read so.
std::string proposal_text(const ProposalFile& proposal);

// A child has at most so many parents.
constexpr size_t kMostParents = 8;

// Why these are no parents of a round's variants, the first of which has the number `first`: all of
// a campaign's variants with smaller numbers are older. Problem `bad-parents`.
std::optional<Problem> parents_problem(const std::vector<std::string>& parents, int first);

// The kernel of a proposal as its parent's child. `canonical` is its code with the EVOLVE block's
// canonical markers, where it has a block. Problem `passed` where it has no kernel; others as
// adopt() has them. Bad input: the parent has no EVOLVE block.
Result<Adoption> adopt_proposal(const ProposalFile& proposal, std::string_view canonical,
                                const AdoptionContext& context);

}  // namespace evolve::search
