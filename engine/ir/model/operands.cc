#include "engine/ir/model/operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/core/json_text.h"
#include "engine/core/text/scan.h"

namespace evolve::ir {

namespace {

using nlohmann::json;

constexpr size_t kLanes = 128;
constexpr size_t kMostWords = size_t{1} << 22;  // 16 MiB; SMEM has 1 MiB
constexpr uint64_t kMostTimes = 1'000'000'000;

// Appends the numbers of nested lists, in order. `deepest` is more dimensions than any array has.
Status flatten(const json& value, Values& out, int deepest = 32) {
  if (value.is_array()) {
    if (deepest == 0) return bad_input("lists are nested too deeply");
    for (const json& one : value) {
      TRY(flatten(one, out, deepest - 1));
    }
    return {};
  }
  if (value.is_boolean()) {
    out.push_back(value.get<bool>() ? 1 : 0);
  } else if (value.is_number()) {
    out.push_back(value.get<double>());
  } else {
    return bad_input(fmt::format("expected a number or a list of numbers, got {}",
                                 json_line(value).substr(0, 40)));
  }
  return {};
}

std::optional<uint32_t> operand_number(const std::string& text) {
  const auto number = to_number<uint32_t>(text);
  return number && *number <= kMostParameters ? number : std::nullopt;
}

Result<OperandValues> read_values(const json& document) {
  OperandValues out;
  size_t index = 0;
  for (const auto& [key, value] : document.items()) {
    std::string name = document.is_array() ? std::to_string(index++) : key;
    if (value.is_null()) continue;
    auto number = operand_number(name);
    if (!number) return bad_input(fmt::format("'{}' is not the number of an operand", name));
    Values values;
    if (auto status = flatten(value, values); !status)
      return bad_input(fmt::format("operand {}: {}", name, status.error().message));
    out.emplace(*number, std::move(values));
  }
  return out;
}

Result<std::vector<std::string>> read_shapes(const json& shapes) {
  if (!shapes.is_array()) return bad_input("'shapes' is not a list");
  std::vector<std::string> out;
  for (const json& shape : shapes) {
    if (!shape.is_null() && !shape.is_string())
      return bad_input("expected a shape, for example \"s32[9]\"");
    out.push_back(shape.is_null() ? "" : shape.get<std::string>());
  }
  return out;
}

// Whether a module's inputs are of these shapes.
bool has_shapes(const Schedule& module, const std::vector<std::string>& shapes) {
  return !shapes.empty() &&
         std::all_of(
             module.operands.begin(), module.operands.end(), [&](const KernelOperand& operand) {
               if (operand.is_output) return true;
               if (operand.number >= shapes.size()) return false;
               const std::string& shape = shapes[operand.number];
               return shape.empty() ||
                      shape == fmt::format("{}[{}]", operand.dtype, fmt::join(operand.shape, ","));
             });
}

Result<std::vector<KernelInput>> read_runs(const json& runs) {
  if (!runs.is_array()) return bad_input("expected a list of runs");
  std::vector<KernelInput> out;
  for (const json& run : runs) {
    if (!run.is_object() || !run.contains("operands"))
      return bad_input("expected a run: {\"times\": …, \"operands\": {…}}");
    TRY_ASSIGN(auto values, read_values(run["operands"]));
    json times = run.value("times", json(1));
    if (!times.is_number_integer() || times < 0 || times > kMostTimes)
      return bad_input("'times' is not a number of runs");
    TRY_ASSIGN(auto shapes, read_shapes(run.value("shapes", json::array())));
    out.push_back({times.get<uint64_t>(), std::move(values), std::move(shapes)});
  }
  return out;
}

struct Element {
  size_t bits;
  bool is_float;
};

std::optional<Element> element_of(const std::string& dtype) {
  if (dtype == "s32" || dtype == "u32") return Element{32, false};
  if (dtype == "f32") return Element{32, true};
  if (dtype == "s16" || dtype == "u16") return Element{16, false};
  if (dtype == "s8" || dtype == "u8" || dtype == "pred") return Element{8, false};
  return std::nullopt;
}

std::optional<uint32_t> bits_of(double value, Element element) {
  if (element.is_float) return std::bit_cast<uint32_t>(static_cast<float>(value));
  // A number may be given with or without a sign: 255 and -1 are the same byte.
  double most = std::ldexp(1.0, static_cast<int>(element.bits));
  if (std::trunc(value) != value || value >= most || value < -most / 2) return std::nullopt;
  auto whole = static_cast<uint32_t>(static_cast<int64_t>(value));
  return element.bits == 32 ? whole : whole & ((1U << element.bits) - 1);
}

// Says where in memory each element of a matrix, or of a sequence of matrices, is.
class Tiling {
 public:
  Tiling(const std::vector<uint32_t>& shape, size_t bits) : pack_(32 / bits) {
    bool is_vector = shape.size() < 2;
    columns_ = shape.empty() ? 1 : shape.back();
    rows_ = is_vector ? 1 : shape[shape.size() - 2];
    if (is_vector) {
      // A vector is rows of 128. A tile has as many rows as share a word.
      rows_ = (columns_ + kLanes - 1) / kLanes;
      columns_ = kLanes;
      tile_rows_ = pack_;
    } else {
      tile_rows_ = std::max(pack_, rows_ > 4 ? 8 : std::bit_ceil(rows_));
    }
    tile_columns_ = (columns_ + kLanes - 1) / kLanes;
    matrix_words_ = (rows_ + tile_rows_ - 1) / tile_rows_ * tile_columns_ * tile_words();
  }

  struct Place {
    size_t word;
    size_t shift;  // in elements
  };
  [[nodiscard]] Place of(size_t element) const {
    size_t matrix = element / (rows_ * columns_);
    size_t row = element / columns_ % rows_;
    size_t column = element % columns_;
    size_t tile = row / tile_rows_ * tile_columns_ + column / kLanes;
    size_t in_tile = row % tile_rows_;
    return {
        matrix * matrix_words_ + tile * tile_words() + in_tile / pack_ * kLanes + column % kLanes,
        in_tile % pack_};
  }

 private:
  [[nodiscard]] size_t tile_words() const { return tile_rows_ / pack_ * kLanes; }

  size_t pack_;
  size_t rows_ = 1;
  size_t columns_ = 1;
  size_t tile_rows_ = 1;
  size_t tile_columns_ = 1;
  size_t matrix_words_ = 0;
};

Result<std::vector<uint32_t>> lay_out_one(const KernelOperand& operand, const Values& values) {
  std::string type = fmt::format("{}[{}]", operand.dtype, fmt::join(operand.shape, ","));
  auto element = element_of(operand.dtype);
  if (!element) return bad_input(fmt::format("the memory layout of a {} is unknown", type));
  double count = 1;
  for (uint32_t extent : operand.shape) count *= extent;
  if (count != static_cast<double>(values.size()))
    return bad_input(fmt::format("the operand is a {}, but has {} values", type, values.size()));
  Tiling tiling(operand.shape, element->bits);
  std::vector<uint32_t> words;
  for (size_t i = 0; i < values.size(); ++i) {
    auto bits = bits_of(values[i], *element);
    if (!bits) return bad_input(fmt::format("{} is not a {}", values[i], operand.dtype));
    auto [word, shift] = tiling.of(i);
    if (word >= kMostWords) return bad_input(fmt::format("a {} is too large", type));
    if (word >= words.size()) words.resize(word + 1, 0);
    words[word] |= *bits << (shift * element->bits);
  }
  return words;
}

// Returns the text between two marks; empty: the first mark is missing.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  size_t start = text.find(from);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + from.size());
  return text.substr(0, text.find(to));
}

template <class Number>
double number_at(std::string_view bytes, size_t index) {
  Number value{};
  std::memcpy(&value, bytes.data() + index * sizeof(Number), sizeof(Number));
  return static_cast<double>(value);
}

}  // namespace

ProgramInput::Runs ProgramInput::of(const Schedule& module) const {
  for (const std::string& name : {module.name, module.name.substr(0, module.name.rfind('.'))}) {
    if (auto found = kernels.find(name); found != kernels.end()) return {&found->second, 1};
  }
  Runs by_shape{nullptr, 0};
  for (const auto& [name, runs] : kernels) {
    if (runs.empty() || !has_shapes(module, runs.front().shapes)) continue;
    if (by_shape.each != nullptr && *by_shape.each != runs) return {};
    if (by_shape.each == nullptr) by_shape.each = &runs;
    ++by_shape.kernels;
  }
  if (by_shape.each != nullptr) return by_shape;
  auto every = kernels.find("");
  return every == kernels.end() ? Runs() : Runs{&every->second, 1};
}

Result<ProgramInput> read_operands(const json& document) {
  ProgramInput out;
  if (!document.is_object() && !document.is_array())
    return bad_input("expected a map of operands by their numbers, or a list of operands");
  if (!document.contains("kernels")) {
    TRY_ASSIGN(auto values, read_values(document));
    out.kernels[""] = {{1, std::move(values)}};
    return out;
  }
  if (!document["kernels"].is_object()) return bad_input("'kernels': expected names");
  for (const auto& [name, runs] : document["kernels"].items()) {
    auto read = read_runs(runs);
    if (!read) return bad_input(fmt::format("'kernels': '{}': {}", name, read.error().message));
    out.kernels[name] = *std::move(read);
  }
  return out;
}

Result<Values> read_npy(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr size_t kHead = 10;
  if (!bytes.starts_with(kMagic) || bytes.size() < kHead + 2) return bad_input("not a NumPy file");
  auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<uint8_t>(bytes[at])); };
  bool is_long = byte(6) >= 2;
  size_t length = byte(8) | byte(9) << 8;
  if (is_long) length |= byte(10) << 16 | byte(11) << 24;
  size_t start = kHead + (is_long ? 2 : 0);
  if (bytes.size() - start < length) return bad_input("the NumPy file ends in its header");
  std::string_view head = bytes.substr(start, length);
  std::string_view data = bytes.substr(start + length);
  if (head.find("'fortran_order': False") == std::string_view::npos)
    return bad_input("the NumPy file is not in row-major order");
  std::string_view type = between(head, "'descr': '", "'");
  using Read = double (*)(std::string_view, size_t);
  static const std::map<std::string_view, std::pair<size_t, Read>> kTypes = {
      {"<i8", {8, number_at<int64_t>}}, {"<u8", {8, number_at<uint64_t>}},
      {"<i4", {4, number_at<int32_t>}}, {"<u4", {4, number_at<uint32_t>}},
      {"<i2", {2, number_at<int16_t>}}, {"<u2", {2, number_at<uint16_t>}},
      {"|i1", {1, number_at<int8_t>}},  {"|u1", {1, number_at<uint8_t>}},
      {"|b1", {1, number_at<uint8_t>}}, {"<f4", {4, number_at<float>}},
  };
  auto found = kTypes.find(type);
  if (found == kTypes.end())
    return bad_input(fmt::format("NumPy files of type '{}' are not supported", type));
  auto [size, read] = found->second;
  if (data.size() % size != 0) return bad_input("the NumPy file ends in a number");
  Values values(data.size() / size);
  for (size_t i = 0; i < values.size(); ++i) values[i] = read(data, i);
  return values;
}

Result<Parameters> lay_out(const Schedule& schedule, const OperandValues& values) {
  Parameters out;
  for (const auto& [number, given] : values) {
    auto operand =
        std::find_if(schedule.operands.begin(), schedule.operands.end(),
                     [wanted = number](const KernelOperand& one) { return one.number == wanted; });
    if (operand == schedule.operands.end())
      return bad_input(fmt::format("{}: no operand {}", schedule.name, number));
    auto words = lay_out_one(*operand, given);
    if (!words)
      return bad_input(
          fmt::format("{}: operand {}: {}", schedule.name, number, words.error().message));
    out.emplace(number, *std::move(words));
  }
  return out;
}

}  // namespace evolve::ir
