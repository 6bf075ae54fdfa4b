#include "engine/ninja/status_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/graph/lexer.h"

namespace evolve::ninja {

namespace {

// The placeholders of NINJA_STATUS, and their names in --status. 'D', the description, is not a
// placeholder of NINJA_STATUS, as in Ninja.
constexpr std::array<std::pair<char, std::string_view>, 14> kPlaceholders = {{
    {'s', "started"},
    {'t', "total"},
    {'r', "running"},
    {'u', "remaining"},
    {'f', "finished"},
    {'o', "rate"},
    {'c', "current_rate"},
    {'p', "progress"},
    {'P', "predicted_progress"},
    {'e', "elapsed_seconds"},
    {'w', "elapsed"},
    {'E', "eta_seconds"},
    {'W', "eta"},
    {'D', "description"},
}};

std::string clock_time(double seconds, bool with_hours) {
  auto whole = static_cast<long>(seconds);
  if (with_hours) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  }
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

// Returns the seconds left, from the mean time per finished command; negative: not known.
double eta(const Counts& counts) {
  if (counts.finished == 0 || counts.command_seconds <= 0) return -1;
  return counts.elapsed_seconds * (counts.total - counts.finished) / counts.finished;
}

std::string value(char placeholder, const Counts& counts, const std::string& description) {
  const double left = eta(counts);
  const bool with_hours = counts.elapsed_seconds >= 3600 || left >= 3600;
  const double rate = counts.elapsed_seconds > 0 ? counts.finished / counts.elapsed_seconds : 0;
  const int percent = counts.total > 0 ? 100 * counts.finished / counts.total : 0;
  switch (placeholder) {
    case '%': return "%";
    case 's': return std::to_string(counts.started);
    case 't': return std::to_string(counts.total);
    case 'r': return std::to_string(counts.running);
    case 'u': return std::to_string(counts.total - counts.started);
    case 'f': return std::to_string(counts.finished);
    case 'o':
    case 'c': return counts.finished == 0 ? "?" : fmt::format("{:.1f}", rate);
    case 'p':
    case 'P': return fmt::format("{:3}%", percent);
    case 'e': return fmt::format("{:.3f}", counts.elapsed_seconds);
    case 'w': return clock_time(counts.elapsed_seconds, with_hours);
    case 'E': return left < 0 ? "?" : fmt::format("{:.3f}", left);
    case 'W': return left < 0 ? "?" : clock_time(left, with_hours);
    case 'D': return description;
    default: return "";
  }
}

}  // namespace

Result<StatusFormat> StatusFormat::parse(const std::string* option, const char* environment) {
  StatusFormat format;
  if (option != nullptr) {
    format.appends_description_ = false;
    const std::string text = *option + "\n";
    std::vector<Piece> pieces;
    Lexer lexer("--status", text);
    if (auto status = lexer.value(pieces); !status) {
      return std::move(status).error().within("invalid --status");
    }
    for (const Piece& piece : pieces) {
      if (!piece.is_variable) {
        format.parts_.push_back({std::string(piece.text), '\0'});
        continue;
      }
      auto known = std::find_if(kPlaceholders.begin(), kPlaceholders.end(),
                                [&](const auto& one) { return one.second == piece.text; });
      if (known == kPlaceholders.end()) {
        return bad_input(fmt::format("unknown variable '{}' in --status format", piece.text));
      }
      format.parts_.push_back({"", known->first});
    }
    return format;
  }
  const std::string_view text = environment != nullptr ? environment : "[%f/%t] ";
  constexpr std::string_view kKnown = "%strufocpPewEW";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      format.parts_.push_back({std::string(1, text[i]), '\0'});
      continue;
    }
    ++i;
    if (i == text.size() || kKnown.find(text[i]) == std::string_view::npos) {
      return bad_input(fmt::format("unknown placeholder '%{}' in $NINJA_STATUS",
                                   i < text.size() ? text.substr(i, 1) : ""));
    }
    format.parts_.push_back({"", text[i]});
  }
  return format;
}

std::string StatusFormat::line(const Counts& counts, const std::string& description) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.placeholder == '\0' ? part.text : value(part.placeholder, counts, description);
  }
  return appends_description_ ? out + description : out;
}

}  // namespace evolve::ninja
