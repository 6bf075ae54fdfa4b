// Delivery: the kernel that a campaign gives out has its author's words, and is the program that
// was judged. That very file is lowered once more, under other conditions, and its programs are
// compared with the recorded ones.
#pragma once

#include <string>

#include "engine/app/campaign.h"
#include "engine/replay/past.h"

namespace evolve {

// Returns a variant's kernel with the seed's comments, docstrings and layout wherever the kernel
// has the seed's statements. Nothing else in the source differs.
Result<std::string> authored(const Campaign& campaign, const std::string& variant);

// Returns that kernel, checked. A kernel that looks at its own text may be another program with
// other words around it; then the kernel is returned as it was judged. Failed: even the judged text
// makes other programs.
Result<std::string> deliver(const Campaign& campaign, const std::string& variant);

// Checks that a variant's file makes the recorded programs. Failed: it makes others; the error says
// in which cases, and why.
Status check_delivery(const Campaign& campaign, const std::string& variant);

// Does the same for a recorded round's best variant, if it has one.
Status check_delivery(Past& past, const PastRound& round);

}  // namespace evolve
