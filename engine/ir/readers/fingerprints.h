// The reader of libtpu's fingerprints of a program's modules, the dump
// "TLP-…-all-fingerprints.txt":
//
//   line        = fingerprint " " module
//   fingerprint = hash ":i=" hex ":c=" hex ":a=" hex ":b=" hex
//
// `i` counts instructions, `a` allocations. Modules with the same machine code have the same
// fingerprint, whatever the names in their source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

struct Fingerprint {
  std::string module;
  std::string text;
  uint64_t instructions = 0;  // as many as the last LLO pass has (llo.h)
  uint64_t allocations = 0;
  uint32_t line = 0;
};

// Returns the modules in the order of the dump, without libtpu's own ("<…>"). Bad input:
// "<name>:<line>: …".
Result<std::vector<Fingerprint>> read_fingerprints(std::string_view text, const std::string& name);

}  // namespace evolve::ir
