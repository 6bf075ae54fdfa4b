// The reader of libtpu's fingerprints of a program's modules, the dump
// "TLP-…-all-fingerprints.txt":
//
//   line        = fingerprint " " module
//   fingerprint = hash ":i=" hex ":c=" hex ":a=" hex ":b=" hex     (how much there is of what)
//
// It is the same for modules with the same machine code, whatever the names in their source.
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
  uint64_t instructions = 0;  // of the last LLO pass (llo.h), as many as that has
  uint64_t allocations = 0;
  uint32_t line = 0;
};

// The modules in the order of the dump, without those of libtpu's own ("<…>"). An error is bad
// input: "<name>:<line>: …".
Result<std::vector<Fingerprint>> read_fingerprints(std::string_view text, const std::string& name);

}  // namespace evolve::ir
