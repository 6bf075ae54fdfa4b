#include "engine/ir/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

namespace evolve::ir {

namespace {

using nlohmann::json;

json pair(const json& before, const json& after) {
  return json::array({before, after});
}

void sort_by_change(json& list) {
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return std::fabs(a["difference"].get<double>()) > std::fabs(b["difference"].get<double>());
  });
}

json causes(const json& before, const json& after) {
  json out = json::array();
  for (size_t i = 0; i < before["by_cause"].size(); ++i) {
    const json& a = before["by_cause"][i];
    const json& b = after["by_cause"][i];
    out.push_back({{"cause", a["cause"]},
                   {"what", a["what"]},
                   {"seconds", pair(a["seconds"], b["seconds"])},
                   {"difference", b["seconds"].get<double>() - a["seconds"].get<double>()}});
  }
  sort_by_change(out);
  return out;
}

json kernels(const json& before, const json& after) {
  std::map<std::string, std::array<double, 2>> seconds;
  size_t side = 0;
  for (const json* facts : {&before, &after}) {
    for (const json& kernel : (*facts)["kernels"]) {
      std::string name = kernel["name"];
      seconds[name.substr(0, name.rfind('.'))][side] +=
          kernel["seconds"].get<double>() * kernel["times"].get<double>();
    }
    ++side;
  }
  json out = json::array();
  for (const auto& [name, both] : seconds)
    out.push_back(
        {{"name", name}, {"seconds", pair(both[0], both[1])}, {"difference", both[1] - both[0]}});
  sort_by_change(out);
  return out;
}

struct Count {
  const char* what;
  const char* unit;
  const char* pointer;  // into facts
};

constexpr std::array<Count, 13> kCounts = {{
    {"loaded from HBM", "bytes", "/dma/load_bytes"},
    {"stored to HBM", "bytes", "/dma/store_bytes"},
    {"loads", "DMAs", "/dma/loads"},
    {"stores", "DMAs", "/dma/stores"},
    {"passes through loops", "passes", "/steps"},
    {"matmuls", "instructions", "/matmuls"},
    {"bundles executed", "bundles", "/bundles/executed"},
    {"of those empty", "bundles", "/bundles/empty"},
    {"bundles of the program", "bundles", "/bundles/static"},
    {"registers spilled", "stores", "/spills/stores_executed"},
    {"registers filled", "loads", "/spills/loads_executed"},
    {"VMEM allocated", "bytes", "/vmem/allocated_bytes"},
    {"of that for spills", "bytes", "/vmem/spilled_bytes"},
}};

json counts(const json& before, const json& after) {
  json out = json::array();
  for (const Count& count : kCounts) {
    json::json_pointer pointer(count.pointer);
    const json& a = before.at(pointer);
    const json& b = after.at(pointer);
    if (a != b) out.push_back({{"what", count.what}, {"unit", count.unit}, {"values", pair(a, b)}});
  }
  return out;
}

}  // namespace

json compare_facts(const json& before, const json& after) {
  auto a = before["seconds"].get<double>();
  auto b = after["seconds"].get<double>();
  return {{"seconds", pair(a, b)},
          {"difference", b - a},
          {"is_tie", std::fabs(b - a) < kTie * std::max(a, b)},
          {"by_cause", causes(before, after)},
          {"kernels", kernels(before, after)},
          {"counts", counts(before, after)}};
}

}  // namespace evolve::ir
