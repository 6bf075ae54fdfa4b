// The terminal behind stderr or stdout: whether it can rewrite a line, and how wide it is.
#pragma once

namespace evolve {

// Whether `fd` is a terminal that can rewrite a line.
bool is_terminal(int fd);
// Returns the columns of the terminal at `fd`; 80 if the terminal does not say.
int terminal_columns(int fd);

}  // namespace evolve
