// The needs of a case, read from its cost, contract and signature. The steps that judge the work of
// a case's kernels use them.
#pragma once

#include <string>

#include "engine/ir/model/work.h"
#include "engine/steps/step.h"

namespace evolve::steps {

inline Result<ir::Needs> read_needs(const nlohmann::json& cost, const std::string& terms_path,
                                    const std::string& signature_path) {
  TRY_ASSIGN(auto terms, read_json(terms_path));
  TRY_ASSIGN(auto signature, read_json(signature_path));
  return ir::read_needs(cost, terms, signature);
}

}  // namespace evolve::steps
