// Options that every command has.
#pragma once

#include "engine/app/answer.h"
#include "engine/app/options.h"
#include "engine/report/output.h"

namespace evolve::cli {

struct CommonOptions : CampaignFlags {
  bool json = false;
  bool color = false;  // on stderr
};

inline void print_result(const CommonOptions& common, const nlohmann::json& report,
                         const std::string& text) {
  evolve::print_result(common.json, report, text);
}

// Prints an answer, and returns its failure if it has one.
inline Status print_answer(const CommonOptions& common, const Answer& answer) {
  print_result(common, answer.report, answer.text);
  return answer.failure ? Status(*answer.failure) : Status{};
}

}  // namespace evolve::cli
