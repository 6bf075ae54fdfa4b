// The client of GNU make's jobserver, by which the tools of one build share the machine's slots.
// Only the FIFO protocol is supported, as in ninja:
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
  // Returns the FIFO that $MAKEFLAGS names; empty: it names no jobserver. Bad input, with Ninja's
  // message: the protocol is not supported.
  static Result<std::string> find(const std::string& makeflags);
  // Opens the FIFO. External error, with Ninja's message: the FIFO cannot be opened.
  static Result<Jobserver> open(const std::string& fifo);
  ~Jobserver();
  Jobserver(Jobserver&&) noexcept = default;
  Jobserver& operator=(Jobserver&&) = delete;
  Jobserver(const Jobserver&) = delete;
  Jobserver& operator=(const Jobserver&) = delete;

  // Takes a slot. Every client has its first slot without asking. False: no slot is free now.
  bool acquire();
  // Gives back a slot that was taken.
  void release();
  // Returns a descriptor that is readable when a slot is free.
  [[nodiscard]] int descriptor() const { return read_.get(); }

 private:
  Jobserver(Fd read, Fd write) : read_(std::move(read)), write_(std::move(write)) {}

  Fd read_, write_;
  bool has_implicit_ = true;
  std::vector<char> tokens_;  // tokens that were read; the same tokens are written back
};

}  // namespace evolve::world
