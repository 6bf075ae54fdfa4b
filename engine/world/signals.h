// SIGINT, SIGTERM and SIGHUP as a file descriptor that a poll loop can watch.
#pragma once

namespace evolve::world {

// Routes the signals to the watch from now on, for the whole process; SIGPIPE is ignored. Call
// once.
void watch_interrupts();

// Returns a descriptor that is readable once a signal has come; -1 before watch_interrupts().
int interrupt_descriptor();
bool was_interrupted();

}  // namespace evolve::world
