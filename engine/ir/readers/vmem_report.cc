#include "engine/ir/readers/vmem_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/core/outside_json.h"
#include "engine/core/text/scan.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

using nlohmann::json;

// Reads the number at the front of a text.
std::optional<uint64_t> leading_number(std::string_view text) {
  return take_number<uint64_t>(text);
}

std::optional<Window> read_window(std::string_view tag, uint64_t bytes) {
  Window window;
  window.is_output = tag.starts_with("output window allocation");
  if (!window.is_output && !tag.starts_with("input window allocation")) return std::nullopt;
  auto operand =
      leading_number(behind(tag, window.is_output ? "operator output " : "operator input "));
  std::string_view shape = behind(tag, "The window shape is ");
  shape = shape.substr(0, std::min(shape.find(']'), shape.size() - 1) + 1);
  auto size = shape_bytes(shape);
  if (!operand || !size || *size == 0) return std::nullopt;
  window.operand = static_cast<uint32_t>(*operand);
  window.shape = shape;
  window.window_bytes = *size;
  window.buffers = bytes / *size;
  return window;
}

// Reads a size; 0: the key is missing. Throws json::exception if the size is not a whole number.
uint64_t read_size(const json& data, const char* key) {
  auto size = data.find(key);
  return size == data.end() ? 0 : size->get_ref<const json::number_unsigned_t&>();
}

Allocation read_allocation(const json& data) {
  Allocation out;
  std::string tag = data.value("tag", "");
  out.bytes = read_size(data, "size");
  out.is_spill = tag == "SPILL";
  out.window = read_window(tag, out.bytes);
  out.tag = tag.substr(0, tag.find(". "));
  return out;
}

}  // namespace

std::optional<uint64_t> shape_bytes(std::string_view shape) {
  static const std::map<std::string_view, uint64_t> kBits = {
      {"pred", 8}, {"s4", 4},   {"u4", 4},       {"s8", 8},    {"u8", 8},
      {"s16", 16}, {"u16", 16}, {"s32", 32},     {"u32", 32},  {"bf16", 16},
      {"f16", 16}, {"f32", 32}, {"f8e4m3fn", 8}, {"f8e5m2", 8}};
  size_t open = shape.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  auto bits = kBits.find(shape.substr(0, open));
  if (bits == kBits.end()) return std::nullopt;
  uint64_t count = 1;
  std::string_view extents = shape.substr(open);
  while (extents.size() > 2) {
    extents.remove_prefix(1);  // '[' or ','
    auto extent = leading_number(extents);
    constexpr uint64_t kMost = uint64_t{1} << 40;
    if (!extent || *extent > kMost || (*extent != 0 && count > kMost / *extent))
      return std::nullopt;
    count *= *extent;
    extents.remove_prefix(std::min(extents.find(','), extents.size()));
  }
  return count * bits->second / 8;
}

Result<std::vector<ModuleMemory>> read_vmem_report(std::string_view page, const std::string& name) {
  std::vector<ModuleMemory> out;
  std::string_view data = behind(page, "const DATA =");
  if (data.empty()) return out;
  size_t end = data.find("};");
  json report = end == std::string_view::npos ? json() : json_or_null(data.substr(0, end + 1));
  if (!report.is_object()) return bad_input(fmt::format("{}: the data does not end", name));
  try {
    const json modules = report.value("hlo_breakdowns", json::object());
    for (const auto& [module, memory] : modules.items()) {
      if (module.starts_with('<')) continue;
      ModuleMemory one{module, read_size(memory, "total_size"), {}};
      const json blocks = memory.value("blocks", json::array());
      for (const json& block : blocks) {
        const json allocations = block.value("allocations", json::array());
        for (const json& allocation : allocations)
          one.allocations.push_back(read_allocation(allocation));
      }
      out.push_back(std::move(one));
    }
  } catch (const json::exception& error) {
    return bad_input(fmt::format("{}: the data has an unknown form: {}", name, error.what()));
  }
  return out;
}

}  // namespace evolve::ir
