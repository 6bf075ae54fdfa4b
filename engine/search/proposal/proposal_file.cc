#include "engine/search/proposal/proposal_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/proposal/heading.h"
#include "engine/search/proposal/mutation.h"

namespace evolve::search {

namespace {

Result<std::vector<VariantId>> read_parents(std::string_view text) {
  std::vector<VariantId> out;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view word = without_blanks(text.substr(0, comma));
    const auto id = VariantId::parse(word);
    if (!id) return bad_input(fmt::format("parents: '{}' is not the id of a variant", word));
    out.push_back(*id);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

// Takes one line of the heading.
Status take(std::string_view key, std::string_view value, ProposalFile& out) {
  if (key == "note") {
    out.note = one_line(value, kMostNoteBytes);
  } else if (key == "pass") {
    out.passed = one_line(value, kMostNoteBytes);
  } else if (key == "parents") {
    TRY_ASSIGN(auto parents, read_parents(value));
    out.parents = std::move(parents);
  } else {
    return bad_input(fmt::format("'{}': expected 'parents', 'note' or 'pass' and a colon", key));
  }
  return {};
}

}  // namespace

Result<ProposalFile> read_proposal_file(std::string_view text) {
  ProposalFile out;
  auto lines = take_heading(
      text, [&](std::string_view key, std::string_view value) { return take(key, value, out); });
  if (!lines) return std::move(lines).error();
  out.lines_above = *lines;
  out.code = text;
  return out;
}

std::string proposal_text(const ProposalFile& proposal) {
  std::string out;
  if (!proposal.parents.empty())
    out += heading_line("parents", fmt::format("{}", fmt::join(proposal.parents, ", ")));
  if (!proposal.note.empty()) out += heading_line("note", proposal.note);
  if (proposal.passed) out += heading_line("pass", *proposal.passed);
  return out + proposal.code;
}

std::optional<Problem> parents_problem(const std::vector<VariantId>& parents, VariantId first) {
  constexpr const char* kKind = "bad-parents";
  if (parents.size() > kMostParents)
    return Problem{kKind,
                   fmt::format("{} parents, at most {} are allowed", parents.size(), kMostParents)};
  for (const VariantId id : parents) {
    if (id >= first)
      return Problem{kKind, fmt::format("parent '{}': not a variant of an earlier round", id)};
  }
  return std::nullopt;
}

Result<Adoption> adopt_proposal(const ProposalFile& proposal, std::string_view canonical,
                                const AdoptionContext& context) {
  if (proposal.passed) {
    const std::string& why = *proposal.passed;
    return adopt({{}, Problem{"passed", why.empty() ? "no kernel was proposed" : why}}, context);
  }
  TRY_ASSIGN(auto parent, pieces_of(context.parent));
  auto checked = adopt(block_of(std::string(canonical), parent), context);
  // The kernel keeps its author's comments, if the author's markers are the canonical ones.
  const bool has_markers = proposal.code.find(kBlockStart) != std::string::npos;
  if (!checked || checked->problem || !has_markers) return checked;
  return adopt(block_of(proposal.code, parent), context);
}

}  // namespace evolve::search
