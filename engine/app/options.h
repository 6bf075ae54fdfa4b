// How a campaign is opened.
#pragma once

#include <functional>
#include <string>

#include "engine/app/campaign.h"

namespace evolve {

struct SessionOptions {
  CampaignOptions campaign;
  bool has_told_notices = false;  // of the pipeline: who builds round after round tells them once
  // Tells the user of what was set aside, or is not as it should be.
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
};

}  // namespace evolve
