#include "engine/graph/extensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "engine/core/text/words.h"

namespace evolve {

namespace {

constexpr int kMostRetries = 100;
constexpr int kMostExitCode = 255;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Takes a non-negative number off the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  // Only these characters count, because strtod also reads signs, "inf", "nan" and hexadecimal
  // digits.
  const size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string digits(text.substr(0, size));
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != '\0' || end == digits.c_str()) return std::nullopt;
  text = trimmed(text.substr(size));
  return value;
}

std::optional<int> take_whole(std::string_view& text, int least, int most) {
  const auto number = take_number(text);
  const bool is_one =
      number && *number == std::floor(*number) && least <= *number && *number <= most;
  return is_one ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

Error wrong(const char* name, std::string_view value, const char* form) {
  return bad_input(fmt::format("{} = {}: not {}", name, value, form));
}

}  // namespace

std::string place_in(const std::string& node_pool) {
  return "place in " + node_pool;
}

Placement placement_of(const Extensions& extensions, const Resources& capacity) {
  const std::string place = place_in(extensions.node_pool);
  if (extensions.node_pool.empty() || !capacity.contains(place)) {
    return {false, extensions.needs};
  }
  return {true, {{place, 1}}};
}

Result<double> parse_size(std::string_view text) {
  std::string_view rest = trimmed(text);
  const auto number = take_number(rest);
  for (auto [unit, shift] :
       {std::pair("", 0), {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}) {
    if (number && rest == unit) return std::ldexp(*number, shift);
  }
  for (auto [unit, factor] : {std::pair("kB", 1e3),
                              {"MB", 1e6},
                              {"GB", 1e9},
                              {"TB", 1e12},
                              {"k", 1e3},
                              {"M", 1e6},
                              {"G", 1e9},
                              {"T", 1e12}}) {
    if (number && rest == unit) return *number * factor;
  }
  return bad_input(fmt::format("{}: not a size, for example 1.5 GiB", text));
}

Result<Resources::value_type> parse_resource(std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string name(text.substr(0, equals));
  auto amount = parse_size(equals == text.size() ? "" : text.substr(equals + 1));
  const bool is_whole = amount && *amount == std::floor(*amount);
  if (name.empty() || !amount || (name != "memory" && !is_whole)) {
    return bad_input(fmt::format("{}: not a resource, for example memory=16GiB or tpu=4", text));
  }
  return Resources::value_type(name, *amount);
}

Result<Extensions> read_extensions(const VariableOf& variable) {
  Extensions out;
  if (auto text = variable("class"); !text.empty()) {
    auto step_class = class_from(text);
    if (!step_class) return wrong("class", text, "pure, measured or recorded");
    out.step_class = *step_class;
    const bool is_placed = !variable("device_kind").empty() && !variable("protocol").empty();
    if (*step_class == StepClass::measured && !is_placed) {
      return bad_input(
          "class = measured: device_kind and protocol are missing: a measurement is valid only for "
          "its kind of device");
    }
  }
  if (auto text = variable("memory"); !text.empty()) {
    auto bytes = parse_size(text);
    if (!bytes) return wrong("memory", text, "a size, for example 1.5 GiB");
    out.needs["memory"] = *bytes;
  }
  const std::string device = variable("device");
  if (auto text = trimmed(device); !text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    std::string_view rest = trimmed(text.substr(blank));
    const std::string kind(text.substr(0, blank));
    const auto count = rest.empty() ? 1 : take_number(rest).value_or(0);
    if (!rest.empty() || count < 1 || count != std::floor(count) || kind == "memory") {
      return wrong("device", text, "a kind and a count, for example tpu 4");
    }
    out.needs[kind] = count;
  }
  out.node_pool = variable("node_pool");
  out.is_tentative = variable("tentative") == "1";
  if (auto text = variable("retries"); !text.empty()) {
    std::string_view rest = text;
    const auto count = take_whole(rest, 0, kMostRetries);
    if (!count || !rest.empty()) return wrong("retries", text, "a number from 0 to 100");
    out.retries = *count;
  }
  const std::string codes = variable("final_exit_codes");
  for (std::string_view rest = trimmed(codes); !rest.empty();) {
    const auto code = take_whole(rest, 1, kMostExitCode);
    if (!code) return wrong("final_exit_codes", codes, "numbers from 1 to 255");
    out.final_exit_codes.insert(*code);
  }
  if (auto text = variable("timeout"); !text.empty()) {
    std::string_view rest = text;
    const auto seconds = take_number(rest);
    if (!seconds || !rest.empty()) return wrong("timeout", text, "a number of seconds");
    out.timeout_seconds = *seconds;
  }
  if (auto text = variable("sandbox"); !text.empty()) {
    if (text != "0" && text != "1") return wrong("sandbox", text, "0 or 1");
    out.is_sandboxed = text == "1";
    if (out.is_sandboxed && !variable("worker").empty()) {
      return bad_input("sandbox = 1: an edge with a worker cannot have a sandbox");
    }
  }
  if (const auto secrets = words_in(variable("secrets")); !secrets.empty()) {
    const auto declared = words_in(variable("environment"));
    const auto both =
        std::find_first_of(secrets.begin(), secrets.end(), declared.begin(), declared.end());
    if (both != secrets.end()) {
      return bad_input(fmt::format(
          "secrets = {}: is also in environment, which would put its value into the key", *both));
    }
  }
  return out;
}

}  // namespace evolve
