// The delivery of kernels. A delivered kernel has its author's comments and layout, and is the
// program that was judged. As a check, the delivered file is lowered once more under other
// conditions, and its programs are compared with the recorded programs.
#pragma once

#include <string>

#include "engine/app/campaign.h"
#include "engine/replay/past.h"

namespace evolve {

// Returns a variant's kernel with the seed's comments, docstrings and layout wherever the kernel
// has the seed's statements. Nothing else in the source differs.
Result<std::string> authored(const Campaign& campaign, const std::string& variant);

// Returns the kernel of authored(), checked. A kernel that reads its own text may become another
// program if its comments change. Such a kernel is returned as it was judged. Failed: even the
// judged text makes other programs.
Result<std::string> deliver(const Campaign& campaign, const std::string& variant);

// Checks that a variant's file makes the recorded programs. Failed: the file makes other programs;
// the error says in which cases, and why.
Status check_delivery(const Campaign& campaign, const std::string& variant);

// Does the same for a recorded round's best variant, if the round has a best variant.
Status check_delivery(Past& past, const PastRound& round);

}  // namespace evolve
