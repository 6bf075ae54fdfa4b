#include "engine/llm/events.h"

#include <utility>

namespace evolve::llm {

void EventReader::add(std::string_view bytes) {
  if (after_return_ && !bytes.empty()) {
    after_return_ = false;
    if (bytes.front() == '\n') bytes.remove_prefix(1);
  }
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    const bool is_return = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (is_return && bytes.empty()) after_return_ = true;
    if (is_return && bytes.starts_with('\n')) bytes.remove_prefix(1);
    read_line(std::exchange(line_, {}));
  }
}

void EventReader::finish() {
  if (!line_.empty()) read_line(std::exchange(line_, {}));
  dispatch();
}

void EventReader::read_line(std::string_view line) {
  if (line.empty()) {
    dispatch();
    return;
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") name_ = value;
  if (field != "data") return;
  if (has_data_) data_ += '\n';
  data_ += value;
  has_data_ = true;
}

void EventReader::dispatch() {
  const std::string name = std::exchange(name_, {}), data = std::exchange(data_, {});
  if (std::exchange(has_data_, false)) take_(name, data);
}

}  // namespace evolve::llm
