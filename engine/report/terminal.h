// What stderr and stdout can show.
#pragma once

namespace evolve {

// True where `fd` is a terminal that can rewrite a line.
bool is_terminal(int fd);
// Columns of the terminal at `fd`; 80 where it does not say.
int terminal_columns(int fd);

}  // namespace evolve
