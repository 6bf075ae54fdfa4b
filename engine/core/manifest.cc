#include "engine/core/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "engine/core/did_you_mean.h"
#include "engine/core/lexer.h"

namespace evolve {

namespace {

// Deep enough for any real tree of includes, and an end for a file that includes itself.
constexpr int kIncludeDepth = 64;

// What a rule may bind; edges may bind anything.
constexpr std::array<std::string_view, 11> kRuleVariables = {
    "command", "depfile", "dyndep",          "description",     "deps", "generator", "pool",
    "restat",  "rspfile", "rspfile_content", "msvc_deps_prefix"};

class ManifestParser {
 public:
  ManifestParser(std::string path, std::string_view text, const LoadText& load, Graph& graph,
                 Scope* scope, int depth)
      : lexer_(std::move(path), text), load_(load), graph_(graph), scope_(scope), depth_(depth) {}

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
        case Token::include: status = parse_include(scope_); break;
        case Token::subninja: status = parse_include(graph_.new_scope(scope_)); break;
        case Token::newline: break;
        case Token::end: return {};
        case Token::error: return lexer_.error(bad_character());
        default: return lexer_.error(fmt::format("unexpected {}", token_name(token)));
      }
      if (!status) return status;
    }
  }

 private:
  std::string bad_character() const {
    return lexer_.at_tab() ? "tabs are not allowed, use spaces" : "lexing error";
  }

  Status expect(Token wanted, const char* hint = "") {
    Token token = lexer_.next();
    if (token == wanted) return {};
    return lexer_.error(
        fmt::format("expected {}, got {}{}", token_name(wanted), token_name(token), hint));
  }

  // name = value, the name's token not yet taken.
  Result<std::pair<std::string, Template>> parse_assignment() {
    std::string name = lexer_.identifier();
    if (name.empty()) return lexer_.error("expected variable name");
    if (auto status = expect(Token::equals); !status) return std::move(status).error();
    auto value = lexer_.value();
    if (!value) return std::move(value).error();
    return std::pair(std::move(name), *std::move(value));
  }

  std::string evaluate_here(const Template& text) const {
    return text.evaluate([this](std::string_view name) { return scope_->get(name); });
  }

  Status parse_variable() {
    lexer_.back();
    auto assignment = parse_assignment();
    if (!assignment) return std::move(assignment).error();
    scope_->set(assignment->first, evaluate_here(assignment->second));
    return {};
  }

  Status parse_pool() {
    std::string name = lexer_.identifier();
    if (name.empty()) return lexer_.error("expected pool name");
    if (graph_.find_pool(name) != nullptr)
      return lexer_.error(fmt::format("duplicate pool '{}'", name));
    if (auto status = expect(Token::newline); !status) return status;
    int depth = -1;
    while (lexer_.take(Token::indent)) {
      auto assignment = parse_assignment();
      if (!assignment) return std::move(assignment).error();
      if (assignment->first != "depth") return unexpected_variable(assignment->first);
      std::string text = evaluate_here(assignment->second);
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
      if (error != std::errc() || depth < 0) return lexer_.error("invalid pool depth");
    }
    if (depth < 0) return lexer_.error("expected 'depth =' line");
    graph_.add_pool({name, depth});
    return {};
  }

  Error unexpected_variable(const std::string& name) const {
    return lexer_.error(fmt::format("unexpected variable '{}'", name));
  }

  Status parse_rule() {
    Rule rule;
    rule.name = lexer_.identifier();
    if (rule.name.empty()) return lexer_.error("expected rule name");
    if (auto status = expect(Token::newline); !status) return status;
    if (scope_->find_rule(rule.name) != nullptr) {
      return lexer_.error(fmt::format("duplicate rule '{}'", rule.name));
    }
    while (lexer_.take(Token::indent)) {
      auto assignment = parse_assignment();
      if (!assignment) return std::move(assignment).error();
      if (std::find(kRuleVariables.begin(), kRuleVariables.end(), assignment->first) ==
          kRuleVariables.end()) {
        return unexpected_variable(assignment->first);
      }
      rule.bindings.insert_or_assign(assignment->first, std::move(assignment->second));
    }
    if (!rule.bindings.contains("command")) return lexer_.error("expected 'command =' line");
    if (rule.bindings.contains("rspfile") != rule.bindings.contains("rspfile_content")) {
      return lexer_.error("rspfile and rspfile_content need to be both specified");
    }
    scope_->add_rule(std::move(rule));
    return {};
  }

  Status parse_default() {
    auto paths = parse_paths();
    if (!paths) return std::move(paths).error();
    if (paths->empty()) return lexer_.error("expected target name");
    for (const Template& path : *paths) {
      std::string name = evaluate_here(path);
      auto node = graph_.find_node(name);
      if (name.empty() || !node) return lexer_.error(fmt::format("unknown target '{}'", name));
      graph_.add_default(*node);
    }
    return expect(Token::newline);
  }

  // Paths up to the next token that is none.
  Result<std::vector<Template>> parse_paths() {
    std::vector<Template> paths;
    while (true) {
      auto path = lexer_.path();
      if (!path) return std::move(path).error();
      if (path->empty()) return paths;
      paths.push_back(*std::move(path));
    }
  }

  // Paths behind `separator`, where it comes next.
  Result<std::vector<Template>> parse_paths_after(Token separator) {
    if (!lexer_.take(separator)) return std::vector<Template>{};
    return parse_paths();
  }

  struct EdgePaths {
    std::vector<Template> outputs, implicit_outputs, inputs, implicit, order_only, validations;
  };

  // outs | implicit outs : rule ins | implicit || order-only |@ validations
  Result<std::string> parse_edge_line(EdgePaths& paths) {
    auto read = [](Result<std::vector<Template>> from, std::vector<Template>& to) -> Status {
      if (!from) return std::move(from).error();
      to = *std::move(from);
      return {};
    };
    if (auto status = read(parse_paths(), paths.outputs); !status) return std::move(status).error();
    if (auto status = read(parse_paths_after(Token::pipe), paths.implicit_outputs); !status) {
      return std::move(status).error();
    }
    if (paths.outputs.empty() && paths.implicit_outputs.empty())
      return lexer_.error("expected path");
    if (auto status = expect(Token::colon); !status) return std::move(status).error();
    std::string rule = lexer_.identifier();
    if (rule.empty()) return lexer_.error("expected build command name");
    if (scope_->find_rule(rule) == nullptr) {
      auto near = nearest(rule, scope_->rule_names());
      return lexer_.error(fmt::format("unknown build rule '{}'{}", rule,
                                      near ? fmt::format(", did you mean '{}'?", *near) : ""));
    }
    if (auto status = read(parse_paths(), paths.inputs); !status) return std::move(status).error();
    for (auto [token, to] :
         {std::pair(Token::pipe, &paths.implicit), std::pair(Token::pipe2, &paths.order_only),
          std::pair(Token::pipe_at, &paths.validations)}) {
      if (auto status = read(parse_paths_after(token), *to); !status)
        return std::move(status).error();
    }
    if (auto status = expect(Token::newline); !status) return std::move(status).error();
    return rule;
  }

  Status parse_build() {
    EdgePaths paths;
    auto rule = parse_edge_line(paths);
    if (!rule) return std::move(rule).error();
    Scope* scope = graph_.new_scope(scope_);
    while (lexer_.take(Token::indent)) {
      auto assignment = parse_assignment();
      if (!assignment) return std::move(assignment).error();
      scope->set(assignment->first, evaluate_here(assignment->second));
    }
    Edge edge;
    edge.rule = scope_->find_rule(*rule);
    edge.scope = scope;
    auto add = [&](const std::vector<Template>& from, std::vector<NodeId>& to) -> Status {
      for (const Template& path : from) {
        std::string text = path.evaluate([&](std::string_view name) { return scope->get(name); });
        if (text.empty()) return lexer_.error("empty path");
        to.push_back(graph_.node(text));
      }
      return {};
    };
    edge.implicit_outputs = paths.implicit_outputs.size();
    edge.implicit_inputs = paths.implicit.size();
    edge.order_only_inputs = paths.order_only.size();
    for (auto [from, to] :
         {std::pair(&paths.outputs, &edge.outputs),
          std::pair(&paths.implicit_outputs, &edge.outputs), std::pair(&paths.inputs, &edge.inputs),
          std::pair(&paths.implicit, &edge.inputs), std::pair(&paths.order_only, &edge.inputs),
          std::pair(&paths.validations, &edge.validations)}) {
      if (auto status = add(*from, *to); !status) return status;
    }
    return add_edge(std::move(edge));
  }

  Status add_edge(Edge edge) {
    auto id = static_cast<EdgeId>(graph_.edge_count());
    if (auto status = graph_.add_edge(std::move(edge)); !status) {
      return lexer_.error(status.error().message);
    }
    std::string pool = graph_.binding(id, "pool");
    if (graph_.find_pool(pool) == nullptr) {
      return lexer_.error(fmt::format("unknown pool name '{}'", pool));
    }
    return {};
  }

  Status parse_include(Scope* scope) {
    auto path = lexer_.path();
    if (!path) return std::move(path).error();
    std::string name = evaluate_here(*path);
    if (depth_ >= kIncludeDepth)
      return lexer_.error(fmt::format("include of '{}' is too deep", name));
    auto text = load_(name);
    if (!text) return lexer_.error(fmt::format("loading {}", text.error().message));
    ManifestParser inner(name, *text, load_, graph_, scope, depth_ + 1);
    if (auto status = inner.parse(); !status) return status;
    return expect(Token::newline);
  }

  Lexer lexer_;
  const LoadText& load_;
  Graph& graph_;
  Scope* scope_;
  int depth_;
};

}  // namespace

Status parse_manifest(const std::string& path, const LoadText& load, Graph& graph) {
  auto text = load(path);
  if (!text) return std::move(text).error();
  return ManifestParser(path, *text, load, graph, graph.root_scope(), 0).parse();
}

}  // namespace evolve
