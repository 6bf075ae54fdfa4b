// `evolve ask`: the sweep's search for any program, a line of JSON at a time.
#pragma once

#include <istream>
#include <string>

#include "engine/core/result.h"

namespace evolve::cli {

// Speaks with the program behind `in` and stdout until `in` ends. What is said, a line each:
//
//   in    {"space": {"BLOCK_M": [128, 256], "ORDER": ["ij", "ji"]}, "seed": 1, "budget": 100}
//   out   {"ask": {"BLOCK_M": 128, "ORDER": "ij"}}
//   in    {"tell": 1.25}        its time, in any unit, above 0; or {"tell": null}: it is not valid
//   out   {"ask": …}            and so on
//
// A parameter's values are any JSON, in any order, no two alike; numbers and booleans have an order
// that the search goes by. `seed` (0 to
// 2^53) is 0 where it is not said; after `budget` answers, or when every point was asked for,
// nothing more is asked. A point is asked for once. The same seed and answers give the same
// questions. `sampler` is one of search::sampler_names().
//
// An answer that is not of this form is told of on stderr, with the line's number, and the point is
// asked for again. At the end, on stderr: how much was asked, and the best point.
//
// Bad input: a first line that is not of this form, or an end at a wrong answer.
Status run_ask(const std::string& sampler, std::istream& in);

}  // namespace evolve::cli
