#include "engine/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace evolve {

bool is_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

int terminal_columns(int fd) {
  winsize size = {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace evolve
