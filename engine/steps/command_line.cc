#include "engine/steps/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <type_traits>

namespace evolve::steps {

namespace {

// Rejects a text that is not a number or for which `is_right` is false. The message says that the
// text is not `what`.
CLI::Validator number_that(const std::function<bool(double)>& is_right, const std::string& what) {
  return {[is_right, what](const std::string& text) {
            double value = 0;
            const bool holds = CLI::detail::lexical_cast(text, value) && is_right(value);
            return holds ? std::string() : fmt::format("'{}' is not {}", text, what);
          },
          what};
}

// Returns a variant's id. Throws the parser's error if the word is not an id.
VariantId id_of(const std::string& word, const std::string& name) {
  const auto id = VariantId::parse(word);
  if (!id) throw CLI::ValidationError(name, fmt::format("'{}' is no variant's id", word));
  return *id;
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::at_least(double least) {
  option_->check(number_that([least](double value) { return value >= least; },
                             fmt::format("at least {}", least)));
  return *this;
}

Option Option::above(double bound) {
  option_->check(
      number_that([bound](double value) { return value > bound; }, fmt::format("above {}", bound)));
  return *this;
}

Option Option::between(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::separated() {
  option_->delimiter(',');
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}

CommandLine::~CommandLine() = default;

template <typename T>
Option CommandLine::add(const std::string& name, T& value, const std::string& help) {
  if constexpr (std::is_same_v<T, bool>) {
    return Option(app_->add_flag(name, value, help));
  } else if constexpr (std::is_same_v<T, VariantId>) {
    const auto take = [&value, name](const std::string& word) { value = id_of(word, name); };
    return Option(app_->add_option_function<std::string>(name, take, help));
  } else if constexpr (std::is_same_v<T, std::vector<VariantId>>) {
    const auto take = [&value, name](const std::vector<std::string>& words) {
      for (const std::string& word : words) value.push_back(id_of(word, name));
    };
    return Option(app_->add_option_function<std::vector<std::string>>(name, take, help));
  } else {
    return Option(app_->add_option(name, value, help));
  }
}

template Option CommandLine::add(const std::string&, std::string&, const std::string&);
template Option CommandLine::add(const std::string&, int&, const std::string&);
template Option CommandLine::add(const std::string&, size_t&, const std::string&);
template Option CommandLine::add(const std::string&, double&, const std::string&);
template Option CommandLine::add(const std::string&, bool&, const std::string&);
template Option CommandLine::add(const std::string&, std::vector<std::string>&, const std::string&);
template Option CommandLine::add(const std::string&, std::vector<size_t>&, const std::string&);
template Option CommandLine::add(const std::string&, VariantId&, const std::string&);
template Option CommandLine::add(const std::string&, std::vector<VariantId>&, const std::string&);

int CommandLine::run(int argc, char** argv, const std::function<Status()>& step) {
  try {
    app_->parse(argc, argv);
    const Status status = step();
    if (status) return 0;
    fmt::print(stderr, "{}: {}\n", app_->get_name(), status.error().message);
    if (!status.error().detail.empty()) fmt::print(stderr, "{}\n", status.error().detail);
    if (!status.error().hint.empty()) fmt::print(stderr, "hint: {}\n", status.error().hint);
    return exit_code(status.error().code);
  } catch (const CLI::ParseError& error) {
    const int code = app_->exit(error);
    return code == 0 ? 0 : exit_code(ErrorCode::bad_input);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: internal error: {}\n", app_->get_name(), error.what());
    return exit_code(ErrorCode::internal);
  }
}

}  // namespace evolve::steps
