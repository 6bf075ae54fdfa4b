#include "engine/search/proposal/plan_file.h"

#include <fmt/format.h>

#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/proposal/adoption.h"
#include "engine/search/proposal/heading.h"

namespace evolve::search {

namespace {

constexpr std::string_view kApproved = "approved", kRejected = "rejected";

}  // namespace

Result<PlanFile> read_plan_file(std::string_view text) {
  PlanFile out;
  bool is_decided = false;
  auto lines = take_heading(text, [&](std::string_view key, std::string_view value) -> Status {
    if (key != kApproved && key != kRejected)
      return bad_input(fmt::format("'{}': expected 'approved' or 'rejected' and a colon", key));
    if (is_decided) return bad_input(fmt::format("'{}': the plan is already decided above", key));
    is_decided = true;
    out.is_approved = key == kApproved;
    out.note = one_line(value, kMostNoteBytes);
    if (!out.is_approved && out.note.empty()) return bad_input("rejected: the reason is missing");
    return {};
  });
  if (!lines) return std::move(lines).error();
  if (!is_decided) {
    return bad_input(
        "line 1: expected '# evolve: approved:' or '# evolve: rejected: the reason' above the "
        "plan");
  }
  out.plan = without_blanks(text);
  if (out.is_approved && out.plan.empty())
    return bad_input(fmt::format("line {}: the approved plan is missing", *lines + 1));
  return out;
}

std::string plan_file_text(const PlanFile& file) {
  std::string out = heading_line(file.is_approved ? kApproved : kRejected, file.note);
  // The blank line ends the heading, so that a plan that begins like a heading stays a plan.
  if (!file.plan.empty()) out += fmt::format("\n{}\n", without_blanks(file.plan));
  return out;
}

}  // namespace evolve::search
