// Error and Result<T>, with which every library reports failure. Nothing here prints, throws or
// exits.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace evolve {

// The kind of a failure. The process's exit code depends only on the kind (see exit_code), never on
// the text.
enum class ErrorCode {
  failed,       // an edge or a variant failed: exit 1
  bad_input,    // usage, manifest, pipeline, spec or kernel wrong: exit 2
  external,     // the world failed: disk, process, network: exit 3
  internal,     // a bug in evolve: exit 70
  interrupted,  // the user asked us to stop: exit 130
};

// Returns the process exit code for a kind of failure.
constexpr int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::failed: return 1;
    case ErrorCode::bad_input: return 2;
    case ErrorCode::external: return 3;
    case ErrorCode::internal: return 70;
    case ErrorCode::interrupted: return 130;
  }
  return 70;
}

// A failure as the user will read it: "evolve: error: <message>", the detail, "hint: <hint>".
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // "<where>: <what>: <why>", lower case, no final period
  // Further lines to print unchanged (a source excerpt, captured output), or empty.
  std::string detail = {};
  std::string hint = {};    // one line on what to do about it, or empty
  bool is_located = false;  // the message begins with a file and a line, shown in `detail`

  // Returns the same error with `where` put in front of its message.
  [[nodiscard]] Error within(const std::string& where) && {
    message = where + ": " + message;
    return std::move(*this);
  }
};

inline Error failed(std::string message) {
  return {.code = ErrorCode::failed, .message = std::move(message)};
}
inline Error bad_input(std::string message, std::string detail = {}, std::string hint = {}) {
  return {.code = ErrorCode::bad_input,
          .message = std::move(message),
          .detail = std::move(detail),
          .hint = std::move(hint)};
}
inline Error external(std::string message) {
  return {.code = ErrorCode::external, .message = std::move(message)};
}
inline Error internal_error(std::string message) {
  return {.code = ErrorCode::internal, .message = std::move(message)};
}
inline Error interrupted_error(std::string message, std::string hint = {}) {
  return {.code = ErrorCode::interrupted, .message = std::move(message), .hint = std::move(hint)};
}

// Either a value or an Error. TRY and TRY_ASSIGN, below, pass a failure on.
template <typename T>
class [[nodiscard]] Result {
 public:
  // The constructors are implicit on purpose, so that functions return a value or an error
  // directly.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  // REQUIRES: the result holds a value.
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  // REQUIRES: the result holds an error.
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const& {
    assert(error_);
    return *error_;
  }
  Error&& error() && {
    assert(error_);
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace evolve

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none.
#define EVOLVE_TRY_JOIN_(a, b) a##b
#define EVOLVE_TRY_NAME_(line) EVOLVE_TRY_JOIN_(try_result_, line)

// TRY(expression) returns the error of a Result from the enclosing function, or goes on if there is
// no error. It drops the value.
#define TRY(...)                                                                            \
  do {                                                                                      \
    if (auto try_result = (__VA_ARGS__); !try_result) return std::move(try_result).error(); \
  } while (false)

// TRY_ASSIGN(auto name, expression) does the same, and declares `name` with the value. It is more
// than one statement, so it needs a block.
#define TRY_ASSIGN(declaration, ...)                                                     \
  auto EVOLVE_TRY_NAME_(__LINE__) = (__VA_ARGS__);                                       \
  if (!EVOLVE_TRY_NAME_(__LINE__)) return std::move(EVOLVE_TRY_NAME_(__LINE__)).error(); \
  declaration = *std::move(EVOLVE_TRY_NAME_(__LINE__))
// NOLINTEND(bugprone-macro-parentheses)
