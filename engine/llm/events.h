// Server-sent events, as both chat APIs stream them (WHATWG HTML, "Server-sent events").
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace evolve::llm {

// Reads a stream in pieces that may be cut anywhere. Lines end with LF, CR LF or CR. Comments
// (": keep-alive"), `id` and `retry` are ignored. The lines of an event's data are joined by LF.
class EventReader {
 public:
  // `name` is the name of the event. Empty: the event has no name.
  using Take = std::function<void(std::string_view name, std::string_view data)>;
  explicit EventReader(Take take) : take_(std::move(take)) {}

  void add(std::string_view bytes);
  // Ends the stream. A browser drops an event that no empty line follows. This reader passes such
  // an event on, because some servers forget the last newline.
  void finish();

 private:
  void read_line(std::string_view line);
  void dispatch();

  Take take_;
  std::string line_, name_, data_;
  bool has_data_ = false;
  bool after_return_ = false;  // the last byte was a CR, so a LF belongs to it
};

}  // namespace evolve::llm
