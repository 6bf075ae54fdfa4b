#include "engine/search/history/sketch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "engine/core/digest.h"
#include "engine/core/json_read.h"
#include "engine/core/json_text.h"
#include "engine/core/text/scan.h"

namespace evolve::search {

namespace {

using nlohmann::json;

// The most operations (real programs have some thousands) and nested jaxprs of a sketched program.
constexpr int kMostOperations = 200'000;
constexpr int kMostDeep = 100;
// The limit, in bytes, of all text that is digested. It is needed because a function that is called
// often may contain a large constant.
constexpr size_t kMostText = size_t{256} << 20;

// Operations that only call a function. The function's body takes their place.
constexpr std::array<std::string_view, 8> kCalls = {"closed_call",
                                                    "core_call",
                                                    "custom_jvp_call",
                                                    "custom_vjp_call",
                                                    "custom_vjp_call_jaxpr",
                                                    "custom_lin_call",
                                                    "jit",
                                                    "pjit"};
// Operations whose parameters make up a program's frame (sketch.h).
constexpr std::array<std::string_view, 4> kFrames = {"pallas_call", "run_scoped", "scan", "while"};
// Parameters and fields that do not change the computation, such as an operand's name at its
// caller, and advice to the scheduler around a kernel.
constexpr std::array<std::string_view, 3> kSilent = {"cost_estimate", "debug", "origin"};

template <size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns an element of a list. Null: the list has no such element.
const json& element(const json& list, size_t number) {
  static const json kNull;
  return list.is_array() && number < list.size() ? list[number] : kNull;
}

std::string tag_of(const json& value) {
  return text_in(element(value, 0));
}

bool is_block_mapping(const json& value) {
  return tag_of(value) == "record" && text_in(element(value, 1)) == "BlockMapping";
}

// Returns the number of the jaxpr that a value refers to. Nullopt: the value does not refer to a
// jaxpr.
std::optional<size_t> jaxpr_of(const json& value) {
  const std::string tag = tag_of(value);
  const json& number = element(value, 1);
  if ((tag != "closed" && tag != "jaxpr") || !number.is_number_unsigned()) return std::nullopt;
  return number.get<size_t>();
}

// Collects the jaxprs of a parameter, in their order. Leaves out the jaxprs of index maps, which
// count as parameters.
void collect_jaxprs(const json& value, std::vector<size_t>& out) {
  if (!value.is_array() || is_block_mapping(value)) return;
  if (auto number = jaxpr_of(value)) {
    out.push_back(*number);
    return;
  }
  for (const json& item : value) collect_jaxprs(item, out);
}

class Sketcher {
 public:
  explicit Sketcher(const json& document)
      : jaxprs_(member(document, "jaxprs")), types_(member(document, "vars")) {}

  std::optional<Sketch> sketch() {
    if (!jaxprs_.is_array() || jaxprs_.empty()) return std::nullopt;
    add("return " + json_line(json(walk(jaxprs_.size() - 1, "", {}, 0))));
    if (!is_within_) return std::nullopt;
    Sketch out;
    for (const auto& [feature, count] : counts_) {
      for (int i = 0; i < count; ++i)
        out.features.push_back(digest_of(fmt::format("{:016x} {}", feature, i)).low);
    }
    std::sort(out.features.begin(), out.features.end());
    if (out.features.size() > kMostFeatures) out.features.resize(kMostFeatures);
    std::sort(frame_.begin(), frame_.end());
    out.frame = digest_of(fmt::format("{}", fmt::join(frame_, "\n"))).hex();
    return out;
  }

 private:
  // What made each variable of a jaxpr: an operation, an argument or a constant.
  using Makers = std::map<int64_t, std::string>;

  void add(const std::string& feature) {
    text_ += feature.size();
    is_within_ = is_within_ && text_ <= kMostText;
    ++counts_[digest_of(feature).low];
  }

  // Counts one operation towards the limit. Returns false if a limit is reached.
  bool spend() {
    is_within_ = is_within_ && --left_ > 0;
    return is_within_;
  }

  [[nodiscard]] json type_of(const json& atom) {
    if (atom.is_number_unsigned()) return described(element(types_, atom.get<size_t>()), false);
    return described(atom, false);  // a literal, with its value
  }

  static std::string maker_of(const json& atom, const Makers& makers) {
    if (!atom.is_number_integer()) return "literal";
    auto it = makers.find(atom.get<int64_t>());
    return it == makers.end() ? std::string() : it->second;
  }

  static void bind(const json& atom, std::string maker, Makers& makers) {
    if (atom.is_number_integer()) makers[atom.get<int64_t>()] = std::move(maker);
  }

  // Counts the features of a jaxpr and of the jaxprs in it. `given` are the makers of its
  // arguments; empty: each argument is its own maker. Returns the makers of its results.
  std::vector<std::string> walk(size_t number, const std::string& where,
                                const std::vector<std::string>& given, int depth) {
    std::vector<std::string> out;
    if (depth > kMostDeep) is_within_ = false;
    if (!spend()) return out;
    const json& jaxpr = element(jaxprs_, number);
    Makers makers;
    for (const json& constant : member(jaxpr, "constvars")) bind(constant, "constant", makers);
    size_t position = 0;
    for (const json& argument : member(jaxpr, "invars")) {
      bind(argument,
           position < given.size() ? given[position] : fmt::format("argument {}", position),
           makers);
      ++position;
    }
    for (const json& equation : member(jaxpr, "eqns")) {
      if (!spend()) return out;
      operation(equation, where, makers, depth);
    }
    for (const json& result : member(jaxpr, "outvars")) out.push_back(maker_of(result, makers));
    return out;
  }

  void operation(const json& equation, const std::string& where, Makers& makers, int depth) {
    const std::string name = text_in(member(equation, "primitive"));
    std::vector<size_t> inner;
    json parameters = json::object();
    for (const auto& [key, value] : member(equation, "params").items()) {
      if (is_one_of(kSilent, key)) continue;
      collect_jaxprs(value, inner);
      parameters[key] = described(value, false);
    }
    json operands = json::array(), results = json::array();
    std::vector<std::string> made_by, makes;
    for (const json& atom : member(equation, "invars")) {
      operands.push_back(type_of(atom));
      made_by.push_back(maker_of(atom, makers));
    }
    for (const json& atom : member(equation, "outvars")) {
      results.push_back(type_of(atom));
      makes.push_back(fmt::format("{}.{}", name, makes.size()));
    }
    if (is_one_of(kCalls, name) && inner.size() == 1) {
      makes = walk(inner.front(), where, made_by, depth + 1);
    } else {
      const std::string itself =
          fmt::format("{} {} {}", where, name, json_line(json{operands, results, parameters}));
      add(itself);
      add(itself + json_line(json(made_by)));
      if (is_one_of(kFrames, name)) frame_.push_back(digest_of(itself).hex());
      for (size_t i = 0; i < inner.size(); ++i) {
        const std::string place = fmt::format("{}/{}.{}", where, name, i);
        add(place + " return " + json_line(json(walk(inner[i], place, {}, depth + 1))));
      }
    }
    size_t position = 0;
    for (const json& atom : member(equation, "outvars")) {
      bind(atom, position < makes.size() ? makes[position] : std::string(), makers);
      ++position;
    }
  }

  // Returns a parameter, type or constant without the numbers of jaxprs. The jaxprs of index maps
  // are written out; the other jaxprs have features of their own.
  json described(const json& value, bool is_in_map) {
    if (!value.is_array()) return value;
    const bool is_map = is_in_map || is_block_mapping(value);
    if (auto number = jaxpr_of(value))
      return is_map ? json{"map", whole(*number), element(value, 2)}
                    : json{"jaxpr", element(value, 2)};
    json out = json::array();
    for (const json& item : value) {
      // A record's fields are pairs of a name and a value.
      if (item.size() == 2 && is_one_of(kSilent, tag_of(item))) continue;
      out.push_back(described(item, is_map));
    }
    return out;
  }

  // Returns a whole jaxpr, with its variables numbered from 0.
  json whole(size_t number) {
    if (++maps_open_ > kMostDeep) is_within_ = false;
    if (!spend()) return nullptr;
    const json& jaxpr = element(jaxprs_, number);
    std::map<int64_t, size_t> names;
    auto atoms = [&](const json& list) {
      json out = json::array();
      for (const json& atom : list) {
        out.push_back(atom.is_number_integer()
                          ? json(names.try_emplace(atom.get<int64_t>(), names.size()).first->second)
                          : described(atom, true));
      }
      return out;
    };
    json out = json::array({atoms(member(jaxpr, "constvars")), atoms(member(jaxpr, "invars"))});
    for (const json& equation : member(jaxpr, "eqns")) {
      if (!spend()) break;
      json parameters = json::object();
      for (const auto& [key, value] : member(equation, "params").items())
        parameters[key] = described(value, true);
      out.push_back({member(equation, "primitive"), atoms(member(equation, "invars")),
                     atoms(member(equation, "outvars")), parameters});
    }
    out.push_back(atoms(member(jaxpr, "outvars")));
    --maps_open_;
    return out;
  }

  const json& jaxprs_;
  const json& types_;
  std::map<uint64_t, int> counts_;
  std::vector<std::string> frame_;
  int left_ = kMostOperations;
  size_t text_ = 0;
  int maps_open_ = 0;
  bool is_within_ = true;
};

}  // namespace

std::optional<Sketch> sketch_of(const json& jaxpr) {
  return Sketcher(jaxpr).sketch();
}

double distance(const Sketch& one, const Sketch& other) {
  if (one.frame != other.frame) return 1;
  const auto& a = one.features;
  const auto& b = other.features;
  // The sketch of a large program lacks the larger digests. So only the smallest digests of both
  // sketches together are compared.
  const bool is_cut = a.size() >= kMostFeatures || b.size() >= kMostFeatures;
  const size_t most = is_cut ? kMostFeatures : a.size() + b.size();
  size_t all = 0, common = 0, i = 0, j = 0;
  for (; all < most && (i < a.size() || j < b.size()); ++all) {
    const bool is_in_a = i < a.size() && (j == b.size() || a[i] <= b[j]);
    const bool is_in_b = j < b.size() && (i == a.size() || b[j] <= a[i]);
    common += is_in_a && is_in_b ? 1 : 0;
    i += is_in_a ? 1 : 0;
    j += is_in_b ? 1 : 0;
  }
  return all == 0 ? 0 : 1 - static_cast<double>(common) / static_cast<double>(all);
}

json sketch_record(const Sketch& sketch) {
  std::vector<std::string> features;
  features.reserve(sketch.features.size());
  for (uint64_t feature : sketch.features) features.push_back(fmt::format("{:016x}", feature));
  return {{"frame", sketch.frame}, {"features", features}};
}

Result<Sketch> read_sketch(const json& record) {
  Sketch out;
  out.frame = text_in(member(record, "frame"));
  const json& features = member(record, "features");
  Error bad = external("not a sketch of a program");
  if (out.frame.empty() || !features.is_array() || features.size() > kMostFeatures) return bad;
  for (const json& from : features) {
    const std::string digits = text_in(from);
    const auto feature = to_number<uint64_t>(digits, 16);
    if (!feature) return bad;
    if (!out.features.empty() && *feature <= out.features.back()) return bad;
    out.features.push_back(*feature);
  }
  return out;
}

}  // namespace evolve::search
