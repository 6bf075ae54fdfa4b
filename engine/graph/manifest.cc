#include "engine/graph/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "engine/core/path.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/graph/extensions.h"
#include "engine/graph/lexer.h"

namespace evolve {

namespace {

// The maximum depth of nested includes. It stops a file that includes itself.
constexpr int kIncludeDepth = 256;

// The variables that a rule may bind. An edge may bind any variable.
constexpr std::array<std::string_view, 11> kRuleVariables = {
    "command", "depfile", "dyndep",          "description",     "deps", "generator", "pool",
    "restat",  "rspfile", "rspfile_content", "msvc_deps_prefix"};

// The maximum number of pieces in a rule's binding, with the rule's other bindings expanded in it.
constexpr size_t kMostPieces = 1 << 20;
// The maximum length of all values of a manifest together, in maximum lengths of one value.
constexpr size_t kMostLongValues = 16;

using Version = std::pair<int, int>;  // major, minor

// Parses a version: "1.14.0.git" is 1.14. A part that is not a number counts as 0.
Version parse_version(std::string_view text) {
  Version version;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version.first);
  if (end < text.data() + text.size() && *end == '.') {
    std::from_chars(end + 1, text.data() + text.size(), version.second);
  }
  return version;
}

// Buffers that each statement reuses, so that a large manifest allocates little.
struct Scratch {
  // A path as parsed: a range of `pieces`.
  struct Path {
    size_t begin, end;
  };
  std::vector<Piece> pieces;
  std::vector<Path> paths;
  std::vector<Variable> variables;
  std::vector<NodeId> nodes;
  std::string text;
  size_t evaluated = 0;  // bytes of all values so far

  void clear() {
    pieces.clear();
    paths.clear();
    variables.clear();
  }
};

// Finds out how long a rule's bindings get when they are evaluated, and whether they are circular.
class Nesting {
 public:
  explicit Nesting(const Rule& rule) : rule_(rule), pieces_(rule.bindings.size()) {}

  // Returns the number of pieces in the binding, with the others expanded in it; kMostPieces + 1:
  // more than the limit.
  size_t pieces(const Rule::Binding& binding) {
    std::optional<size_t>& known = pieces_[static_cast<size_t>(&binding - rule_.bindings.data())];
    if (known) {
      is_circular_ |= *known == kOpen;
      return *known == kOpen ? 0 : *known;
    }
    known = kOpen;
    size_t sum = 0;
    for (const Piece& piece : binding.value) {
      const Rule::Binding* inner = piece.is_variable ? rule_.find(piece.text) : nullptr;
      sum = std::min(sum + 1 + (inner == nullptr ? 0 : pieces(*inner)), kMostPieces + 1);
    }
    known = sum;
    return sum;
  }
  [[nodiscard]] bool is_circular() const { return is_circular_; }

 private:
  static constexpr size_t kOpen = SIZE_MAX;

  const Rule& rule_;
  std::vector<std::optional<size_t>> pieces_;
  bool is_circular_ = false;
};

class ManifestParser {
 public:
  ManifestParser(std::string path, std::string_view text, const LoadText& load, Graph& graph,
                 const ManifestOptions& options, Scope* scope, Scratch& scratch, int depth)
      : lexer_(std::move(path), text),
        load_(load),
        graph_(graph),
        options_(options),
        scope_(scope),
        scratch_(scratch),
        depth_(depth) {}

  Status parse() {
    while (true) {
      Token token = lexer_.next();
      Status status;
      switch (token) {
        case Token::pool: status = parse_pool(); break;
        case Token::build: status = parse_build(); break;
        case Token::rule: status = parse_rule(); break;
        case Token::defaults: status = parse_default(); break;
        case Token::identifier: status = parse_variable(); break;
        case Token::include: status = parse_include(false); break;
        case Token::subninja: status = parse_include(true); break;
        case Token::newline: break;
        case Token::end: return {};
        case Token::error: return lexer_.error(lexer_.bad_token());
        default: return lexer_.error(fmt::format("unexpected {}", token_name(token)));
      }
      if (!status) return status;
    }
  }

 private:
  Status expect(Token wanted) {
    Token token = lexer_.next();
    if (token == wanted) return {};
    return lexer_.error(fmt::format("expected {}, got {}{}", token_name(wanted), token_name(token),
                                    wanted == Token::colon ? " ($ also escapes ':')" : ""));
  }

  // Takes "name = value" and leaves the value in the scratch's pieces. REQUIRES: the name's token
  // was not taken yet.
  Status parse_assignment(std::string_view& name) {
    name = lexer_.identifier();
    if (name.empty()) return lexer_.error("expected variable name");
    TRY(expect(Token::equals));
    return lexer_.value(scratch_.pieces);
  }

  // Leaves the text of the pieces in `scratch_.text`, with each variable replaced by
  // `value_of(name)`.
  template <typename ValueOf>
  Status evaluate(std::span<const Piece> pieces, ValueOf value_of) {
    scratch_.text.clear();
    for (const Piece& piece : pieces) {
      scratch_.text += piece.is_variable ? value_of(piece.text) : piece.text;
      if (scratch_.text.size() > graph_.most_text()) {
        return lexer_.error(fmt::format("value longer than {} bytes", graph_.most_text()));
      }
    }
    scratch_.evaluated += scratch_.text.size();
    if (scratch_.evaluated / kMostLongValues > graph_.most_text()) {
      return lexer_.error(fmt::format("values longer than {} bytes together",
                                      graph_.most_text() * kMostLongValues));
    }
    return {};
  }

  // Evaluates the pieces from `begin` on, with the file's variables as they are now. The text lives
  // as long as the graph.
  Result<std::string_view> evaluate_here(size_t begin) {
    std::span<const Piece> pieces = std::span(scratch_.pieces).subspan(begin);
    if (pieces.empty()) return std::string_view();
    if (pieces.size() == 1) {
      return pieces[0].is_variable ? scope_->get(pieces[0].text) : pieces[0].text;
    }
    auto status = evaluate(pieces, [&](std::string_view name) { return scope_->get(name); });
    if (!status) return std::move(status).error();
    return graph_.arena().copy(scratch_.text);
  }

  Status parse_variable() {
    lexer_.back();
    scratch_.clear();
    std::string_view name;
    TRY(parse_assignment(name));
    TRY_ASSIGN(auto value, evaluate_here(0));
    if (name == "ninja_required_version") {
      TRY(check_version(value));
    }
    scope_->set(name, value);
    return {};
  }

  Status check_version(std::string_view required_text) {
    Version ours = parse_version(kNinjaVersion), required = parse_version(required_text);
    if (ours.first > required.first) {
      options_.warn(
          fmt::format("ninja executable version ({}) greater than build file "
                      "ninja_required_version ({}); versions may be incompatible.",
                      kNinjaVersion, required_text));
    } else if (ours < required) {
      return bad_input(
          fmt::format("ninja version ({}) incompatible with build file ninja_required_version "
                      "version ({}).",
                      kNinjaVersion, required_text));
    }
    if (required >= Version{1, 14}) lexer_.allow_newline_escape();
    return {};
  }

  Error unexpected_variable(std::string_view name) const {
    return lexer_.error(fmt::format("unexpected variable '{}'", name));
  }

  Status parse_pool() {
    std::string_view name = lexer_.identifier();
    if (name.empty()) return lexer_.error("expected pool name");
    TRY(expect(Token::newline));
    if (graph_.find_pool(name) != nullptr) {
      return lexer_.error(fmt::format("duplicate pool '{}'", name));
    }
    int depth = -1;
    while (lexer_.take(Token::indent)) {
      scratch_.clear();
      std::string_view variable;
      TRY(parse_assignment(variable));
      if (variable != "depth") return unexpected_variable(variable);
      TRY_ASSIGN(auto text, evaluate_here(0));
      const char* text_end = text.data() + text.size();
      auto [end, error] = std::from_chars(text.data(), text_end, depth);
      // As with C's atol(), a text that is not a number is 0, which means no limit.
      if (error == std::errc::invalid_argument) depth = 0;
      if (error == std::errc::result_out_of_range || depth < 0) {
        return lexer_.error("invalid pool depth");
      }
    }
    if (depth < 0) return lexer_.error("expected 'depth =' line");
    graph_.add_pool({name, depth});
    return {};
  }

  Status parse_rule() {
    Rule rule;
    rule.name = lexer_.identifier();
    if (rule.name.empty()) return lexer_.error("expected rule name");
    TRY(expect(Token::newline));
    if (scope_->own_rule(rule.name) != nullptr) {
      return lexer_.error(fmt::format("duplicate rule '{}'", rule.name));
    }
    std::vector<Rule::Binding> bindings;
    while (lexer_.take(Token::indent)) {
      scratch_.clear();
      std::string_view name;
      TRY(parse_assignment(name));
      if (std::find(kRuleVariables.begin(), kRuleVariables.end(), name) == kRuleVariables.end()) {
        return unexpected_variable(name);
      }
      std::erase_if(bindings, [&](const Rule::Binding& old) { return old.name == name; });
      bindings.push_back({name, graph_.arena().copy(Template(scratch_.pieces))});
    }
    rule.bindings = graph_.arena().copy(std::span<const Rule::Binding>(bindings));
    auto is_empty = [&](std::string_view name) {
      const Rule::Binding* binding = rule.find(name);
      return binding == nullptr || binding->value.empty();
    };
    if (is_empty("rspfile") != is_empty("rspfile_content")) {
      return lexer_.error("rspfile and rspfile_content need to be both specified");
    }
    if (is_empty("command")) return lexer_.error("expected 'command =' line");
    Nesting nesting(rule);
    for (const Rule::Binding& binding : rule.bindings) {
      if (nesting.pieces(binding) > kMostPieces) {
        return lexer_.error(fmt::format("variable '{}' of rule '{}' comes to more than {} pieces",
                                        binding.name, rule.name, kMostPieces));
      }
    }
    rule.is_circular = nesting.is_circular();
    scope_->add_rule(graph_.add_rule(rule));
    return {};
  }

  Status parse_default() {
    // Looks each target up before it reads the next one, so that an error points at the right
    // place.
    for (bool is_first = true;; is_first = false) {
      scratch_.clear();
      TRY(lexer_.path(scratch_.pieces));
      if (scratch_.pieces.empty()) {
        return is_first ? lexer_.error("expected target name") : expect(Token::newline);
      }
      TRY_ASSIGN(auto name, evaluate_here(0));
      if (name.empty()) return lexer_.error("empty path");
      auto node = graph_.find_node(name);
      if (!node) return lexer_.error(fmt::format("unknown target '{}'", canonical_path(name)));
      graph_.add_default(*node);
    }
  }

  // Takes paths into the scratch, up to the next token that is not a path.
  Status parse_paths() {
    while (true) {
      size_t begin = scratch_.pieces.size();
      TRY(lexer_.path(scratch_.pieces));
      if (scratch_.pieces.size() == begin) return {};
      scratch_.paths.push_back({begin, scratch_.pieces.size()});
    }
  }

  // Takes and counts the paths after `separator`, if that token comes next.
  Status parse_paths_after(Token separator, uint32_t& count) {
    if (!lexer_.take(separator)) return {};
    size_t before = scratch_.paths.size();
    auto status = parse_paths();
    count = static_cast<uint32_t>(scratch_.paths.size() - before);
    return status;
  }

  // The number of the scratch's paths of each kind, in the order of the line.
  struct EdgeLine {
    uint32_t outputs = 0, inputs = 0, validations = 0;  // the implicit ones included
  };

  // Parses "outs | implicit outs : rule ins | implicit || order-only |@ validations".
  Status parse_edge_line(Edge& edge, EdgeLine& line) {
    TRY(parse_paths());
    TRY(parse_paths_after(Token::pipe, edge.implicit_outputs));
    if (scratch_.paths.empty()) return lexer_.error("expected path");
    line.outputs = static_cast<uint32_t>(scratch_.paths.size());
    TRY(expect(Token::colon));
    std::string_view rule = lexer_.identifier();
    if (rule.empty()) return lexer_.error("expected build command name");
    edge.rule = scope_->find_rule(rule);
    if (edge.rule == nullptr) return unknown_rule(rule);
    TRY(parse_paths());
    for (auto [token, count] : {std::pair(Token::pipe, &edge.implicit_inputs),
                                std::pair(Token::pipe2, &edge.order_only_inputs),
                                std::pair(Token::pipe_at, &line.validations)}) {
      TRY(parse_paths_after(token, *count));
    }
    line.inputs = static_cast<uint32_t>(scratch_.paths.size()) - line.outputs - line.validations;
    return expect(Token::newline);
  }

  Error unknown_rule(std::string_view rule) const {
    std::vector<std::string> known;
    for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent()) {
      for (const auto& [name, value] : scope->rules()) known.emplace_back(name);
    }
    Error error = lexer_.error(fmt::format("unknown build rule '{}'", rule));
    if (auto near = nearest(rule, known)) error.hint = fmt::format("did you mean '{}'?", *near);
    return error;
  }

  Status parse_build() {
    scratch_.clear();
    Edge edge;
    edge.scope = scope_;
    EdgeLine line;
    TRY(parse_edge_line(edge, line));
    while (lexer_.take(Token::indent)) {
      size_t begin = scratch_.pieces.size();
      std::string_view name;
      TRY(parse_assignment(name));
      TRY_ASSIGN(auto value, evaluate_here(begin));
      scratch_.variables.push_back({name, value});
    }
    edge.bindings = graph_.arena().copy(std::span<const Variable>(scratch_.variables));
    auto paths = std::span<const Scratch::Path>(scratch_.paths);
    auto outputs = nodes_of(paths.first(line.outputs), edge.outputs);
    if (!outputs) return outputs;
    auto inputs = nodes_of(paths.subspan(line.outputs, line.inputs), edge.inputs);
    if (!inputs) return inputs;
    auto validations = nodes_of(paths.last(line.validations), edge.validations);
    if (!validations) return validations;
    drop_phony_cycle(edge);
    edge.pool = graph_.find_pool("");
    auto id = static_cast<EdgeId>(graph_.edge_count());
    if (auto status = graph_.add_edge(edge); !status) return lexer_.error(status.error().message);
    return check_bindings(id);
  }

  // Evaluates paths in the edge's own scope, and makes their nodes.
  Status nodes_of(std::span<const Scratch::Path> paths, std::span<const NodeId>& nodes) {
    scratch_.nodes.clear();
    for (const Scratch::Path& path : paths) {
      const Piece& first = scratch_.pieces[path.begin];
      if (path.end - path.begin == 1 && !first.is_variable) {
        scratch_.nodes.push_back(graph_.node(first.text, true));
        continue;
      }
      auto pieces =
          std::span<const Piece>(scratch_.pieces).subspan(path.begin, path.end - path.begin);
      auto status = evaluate(pieces, [&](std::string_view name) { return variable(name); });
      if (!status) return status;
      if (scratch_.text.empty()) return lexer_.error("empty path");
      scratch_.nodes.push_back(graph_.node(scratch_.text));
    }
    nodes = graph_.arena().copy(std::span<const NodeId>(scratch_.nodes));
    return {};
  }

  // Returns a variable of the edge that is being read: its own, or the file's.
  [[nodiscard]] std::string_view variable(std::string_view name) const {
    for (size_t i = scratch_.variables.size(); i-- > 0;) {
      if (scratch_.variables[i].name == name) return scratch_.variables[i].value;
    }
    return scope_->get(name);
  }

  void drop_phony_cycle(Edge& edge) {
    bool is_like_cmake = edge.is_phony() && edge.outputs.size() == 1 &&
                         edge.implicit_outputs == 0 && edge.implicit_inputs == 0;
    if (!is_like_cmake || options_.is_phony_cycle_error) return;
    NodeId output = edge.outputs.front();
    if (std::find(edge.inputs.begin(), edge.inputs.end(), output) == edge.inputs.end()) return;
    std::vector<NodeId> inputs;
    for (size_t i = 0; i < edge.inputs.size(); ++i) {
      if (edge.inputs[i] != output) {
        inputs.push_back(edge.inputs[i]);
      } else if (i >= edge.inputs.size() - edge.order_only_inputs) {
        --edge.order_only_inputs;
      }
    }
    edge.inputs = graph_.arena().copy(std::span<const NodeId>(inputs));
    options_.warn(
        fmt::format("phony target '{}' names itself as an input; ignoring [-w phonycycle=warn]",
                    graph_.path(output)));
  }

  // Adds to the graph an edge's extensions, pool and dyndep file, as its bindings define them.
  Status check_bindings(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (auto cycle = graph_.find_variable_cycle(id)) {
      return bad_input("cycle in rule variables: " + *cycle);
    }
    if (!edge.bindings.empty()) {
      auto extensions =
          read_extensions([&](std::string_view name) { return graph_.extension(id, name); });
      if (!extensions) return lexer_.error(extensions.error().message);
      graph_.set_extensions(id, *std::move(extensions));
    }
    bool may_bind = !edge.bindings.empty() || edge.rule->find("pool") != nullptr ||
                    edge.rule->find("dyndep") != nullptr;
    if (!may_bind && scope_has_none_of_both()) return {};
    std::string name = graph_.binding(id, "pool");
    if (!name.empty()) {
      const Pool* pool = graph_.find_pool(name);
      if (pool == nullptr) return lexer_.error(fmt::format("unknown pool name '{}'", name));
      graph_.set_pool(id, pool);
    }
    std::string dyndep = graph_.binding(id, "dyndep", Graph::Quoting::none);
    if (dyndep.empty()) return {};
    dyndep = canonical_path(dyndep);
    auto node = graph_.find_node(dyndep);
    if (!node || std::find(edge.inputs.begin(), edge.inputs.end(), *node) == edge.inputs.end()) {
      return lexer_.error(fmt::format("dyndep '{}' is not an input", dyndep));
    }
    graph_.set_dyndep(id, *node);
    return {};
  }

  // Whether the file sets neither `pool` nor `dyndep`. An edge without such a binding would use the
  // file's variable.
  [[nodiscard]] bool scope_has_none_of_both() const {
    return scope_->get("pool").empty() && scope_->get("dyndep").empty();
  }

  Status parse_include(bool has_own_scope) {
    scratch_.clear();
    TRY(lexer_.path(scratch_.pieces));
    TRY_ASSIGN(auto evaluated, evaluate_here(0));
    const std::string name(evaluated);
    if (depth_ >= kIncludeDepth) {
      return lexer_.error(fmt::format("include of '{}' is too deep", name));
    }
    auto text = load_(name);
    if (!text) return lexer_.error(fmt::format("loading '{}': {}", name, text.error().message));
    Scope* scope = has_own_scope ? graph_.new_scope(scope_) : scope_;
    ManifestParser inner(name, graph_.keep_text(*std::move(text)), load_, graph_, options_, scope,
                         scratch_, depth_ + 1);
    TRY(inner.parse());
    return expect(Token::newline);
  }

  Lexer lexer_;
  const LoadText& load_;
  Graph& graph_;
  const ManifestOptions& options_;
  Scope* scope_;
  Scratch& scratch_;
  int depth_;
};

}  // namespace

Status parse_manifest(const std::string& path, const LoadText& load, Graph& graph,
                      const ManifestOptions& options) {
  auto text = load(path);
  if (!text) return std::move(text).error().within(fmt::format("loading '{}'", path));
  Scratch scratch;
  return ManifestParser(path, graph.keep_text(*std::move(text)), load, graph, options,
                        graph.root_scope(), scratch, 0)
      .parse();
}

}  // namespace evolve
