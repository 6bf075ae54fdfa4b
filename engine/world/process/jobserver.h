// The client of GNU make's jobserver, by which the tools of one build share the machine's slots.
// FIFO protocol alone, as in ninja:
// https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/world/fd.h"

namespace evolve::world {

class Jobserver {
 public:
  // The FIFO that the words of $MAKEFLAGS name; empty: no jobserver is spoken of. Bad input, in
  // Ninja's words: a protocol that is not supported.
  static Result<std::string> find(const std::string& makeflags);
  // External, in Ninja's words: the FIFO cannot be opened.
  static Result<Jobserver> open(const std::string& fifo);
  ~Jobserver();
  Jobserver(Jobserver&&) noexcept = default;
  Jobserver& operator=(Jobserver&&) = delete;
  Jobserver(const Jobserver&) = delete;
  Jobserver& operator=(const Jobserver&) = delete;

  // Takes a slot, of which the first is ours without asking. False: none is free now.
  bool acquire();
  // Gives back a slot that was taken.
  void release();
  // Readable when a slot is free.
  [[nodiscard]] int descriptor() const { return read_.get(); }

 private:
  Jobserver(Fd read, Fd write) : read_(std::move(read)), write_(std::move(write)) {}

  Fd read_, write_;
  bool has_implicit_ = true;
  std::vector<char> tokens_;  // those that were read: the same ones go back
};

}  // namespace evolve::world
