#include "engine/search/rejection.h"

#include <nlohmann/json.hpp>

#include "engine/core/json_read.h"

namespace evolve::search {

using nlohmann::json;

std::optional<RejectionEvidence> read_rejection_evidence(const json& from) {
  if (!from.is_object()) return std::nullopt;
  RejectionEvidence out;
  const json& element = member(from, "element");
  if (!element.is_object()) return out;
  WorstElement worst;
  worst.output = text_at(from, "output");
  worst.inputs = text_at(from, "inputs");
  for (const json& axis : member(element, "at")) {
    if (axis.is_number_integer()) worst.at.push_back(axis.get<int64_t>());
  }
  worst.got = text_at(element, "got");
  if (const json& expected = member(element, "expected"); expected.is_number())
    worst.expected = expected.get<double>();
  out.worst = std::move(worst);
  return out;
}

Result<Rejection> read_rejection(const json& from) {
  Rejection out = {text_at(from, "step"), text_at(from, "case"), text_at(from, "kind"),
                   text_at(from, "reason"), read_rejection_evidence(member(from, "evidence"))};
  if (out.step.empty() || out.kind.empty()) return external("the rejection is missing");
  return out;
}

json rejection_record(const Rejection& rejection) {
  json out = {{"step", rejection.step},
              {"case", rejection.case_name},
              {"kind", rejection.kind},
              {"reason", rejection.reason}};
  if (!rejection.evidence) return out;
  out["evidence"] = json::object();
  if (const auto& worst = rejection.evidence->worst) {
    out["evidence"] = {{"output", worst->output},
                       {"inputs", worst->inputs},
                       {"element",
                        {{"at", worst->at},
                         {"got", worst->got},
                         {"expected", worst->expected ? json(*worst->expected) : json()}}}};
  }
  return out;
}

}  // namespace evolve::search
