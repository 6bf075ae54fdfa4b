// What a campaign gives out of a kernel: in its author's words, and the program that was judged.
// The very file is lowered once more, where nothing is as it was, and its programs are compared
// with those that were recorded.
#pragma once

#include <string>

#include "engine/app/campaign.h"
#include "engine/replay/past.h"

namespace evolve {

// A variant's kernel with the comments, docstrings and layout of the seed wherever it has the
// seed's statements: the same source but for those.
Result<std::string> authored(const Campaign& campaign, const std::string& variant);

// The same, checked. With other words around it a kernel may be another program, if it asks for
// them: then it is given as it was judged. Failed: it makes other programs in any case.
Result<std::string> deliver(const Campaign& campaign, const std::string& variant);

// Failed: a variant's file makes other programs; the message says in which cases, and why.
Status check_delivery(const Campaign& campaign, const std::string& variant);

// The same of a recorded round's best variant, if it has one.
Status check_delivery(Past& past, const PastRound& round);

}  // namespace evolve
