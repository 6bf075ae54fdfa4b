// The reader of members under the name that this room had for it.
#pragma once

#include "engine/core/json_read.h"

namespace evolve::search {

using evolve::member;

}  // namespace evolve::search
