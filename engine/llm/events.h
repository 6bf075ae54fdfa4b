// Server-sent events, as both chat APIs stream them (WHATWG HTML, "Server-sent events").
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace evolve::llm {

// Reads a stream that is cut anywhere. Lines end with LF, CR LF or CR; comments (": keep-alive"),
// `id` and `retry` are passed over; the lines of an event's data are joined by LF.
class EventReader {
 public:
  // `name` is the event's, empty where it has none.
  using Take = std::function<void(std::string_view name, std::string_view data)>;
  explicit EventReader(Take take) : take_(std::move(take)) {}

  void add(std::string_view bytes);
  // The stream is at its end. Unlike a browser, which drops an event that no empty line follows, we
  // take it: some servers forget the last newline.
  void finish();

 private:
  void read_line(std::string_view line);
  void dispatch();

  Take take_;
  std::string line_, name_, data_;
  bool has_data_ = false;
  bool after_return_ = false;  // a LF that follows belongs to the line before
};

}  // namespace evolve::llm
