// Whether a kernel that is given out is the program that was judged: the very file is lowered once
// more, where nothing is as it was, and its programs are compared with those that were recorded.
#pragma once

#include <string>

#include "engine/cli/campaign.h"
#include "engine/cli/past.h"

namespace evolve::cli {

// Failed: a variant's file makes other programs; the message says in which cases, and why.
Status check_delivery(const Campaign& campaign, const std::string& variant);

// The same of a recorded round's best variant, if it has one.
Status check_delivery(Past& past, const PastRound& round);

}  // namespace evolve::cli
