#include "engine/world/process/capture.h"

#include <poll.h>

#include <array>

#include "engine/core/path.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/process.h"

namespace evolve::world {

Result<Captured> capture(const std::vector<std::string>& words,
                         const std::map<std::string, std::string>& environment) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    append_shell_quoted(word, line);
  }
  TRY_ASSIGN(auto guard, GuardProcess::start());
  Spawner spawner(guard);
  TRY_ASSIGN(auto process,
             Process::start(line, environment, Streams::separate, Leftovers::end, spawner));
  process.in().reset();
  Captured out;
  bool has_out = true;
  bool has_err = true;
  while (has_out || has_err) {
    // poll(2) ignores a descriptor below 0.
    std::array<pollfd, 2> open = {pollfd{has_out ? process.out().get() : -1, POLLIN, 0},
                                  pollfd{has_err ? process.err().get() : -1, POLLIN, 0}};
    ::poll(open.data(), open.size(), -1);
    if (open[0].revents != 0) has_out = read_available(process.out().get(), out.out);
    if (open[1].revents != 0) has_err = read_available(process.err().get(), out.err);
  }
  out.code = process.wait();
  if (!process.failure().empty()) return external(process.failure());
  return out;
}

}  // namespace evolve::world
