// Options for opening a campaign.
#pragma once

#include <functional>
#include <string>

#include "engine/app/campaign.h"

namespace evolve {

struct CampaignFlags {
  CampaignOptions campaign;
  bool has_told_notices = false;  // the pipeline's notices were shown, once for all rounds of a run
  // Warns the user that a file was set aside, or that something is not as it should be.
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
};

}  // namespace evolve
