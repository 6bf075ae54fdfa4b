#include "engine/graph/dyndep.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "engine/core/path.h"
#include "engine/graph/lexer.h"

namespace evolve {

namespace {

// The outputs and inputs that a dyndep file adds to one edge.
struct Discovery {
  std::vector<NodeId> outputs;
  std::vector<NodeId> inputs;
};
using Discoveries = std::map<EdgeId, Discovery>;

class DyndepParser {
 public:
  DyndepParser(Graph& graph, const std::string& path, std::string_view text)
      : graph_(graph), lexer_(path, text) {}

  Status parse(Discoveries& found) {
    bool has_version = false;
    while (true) {
      Token token = lexer_.next();
      Status status;
      switch (token) {
        case Token::build: status = has_version ? parse_edge(found) : version_error(); break;
        case Token::identifier:
          lexer_.back();
          status = has_version ? Status(unexpected(token)) : parse_version();
          has_version = true;
          break;
        case Token::newline: break;
        case Token::end: return has_version ? Status{} : version_error();
        case Token::error: return lexer_.error(lexer_.bad_token());
        default: return unexpected(token);
      }
      if (!status) return status;
    }
  }

 private:
  [[nodiscard]] Error unexpected(Token token) const {
    return lexer_.error(fmt::format("unexpected {}", token_name(token)));
  }
  [[nodiscard]] Status version_error() const {
    return lexer_.error("expected 'ninja_dyndep_version = ...'");
  }

  Status expect(Token wanted) {
    Token token = lexer_.next();
    if (token == wanted) return {};
    return lexer_.error(fmt::format("expected {}, got {}{}", token_name(wanted), token_name(token),
                                    wanted == Token::colon ? " ($ also escapes ':')" : ""));
  }

  Status parse_assignment(std::string_view& name, std::string& value) {
    name = lexer_.identifier();
    if (name.empty()) return lexer_.error("expected variable name");
    TRY(expect(Token::equals));
    std::vector<Piece> pieces;
    TRY(lexer_.value(pieces));
    value = text_of(pieces);
    return {};
  }

  Status parse_version() {
    std::string_view name;
    std::string version;
    TRY(parse_assignment(name, version));
    if (name != "ninja_dyndep_version") return version_error();
    const std::string_view number = std::string_view(version).substr(0, version.find('-'));
    if (number == "1" || number == "1.0" || number.starts_with("1.0.")) return {};
    return lexer_.error(fmt::format("unsupported 'ninja_dyndep_version = {}'", version));
  }

  // Returns the text of pieces. Dyndep files have no variables, so each variable is empty.
  static std::string text_of(const std::vector<Piece>& pieces) {
    std::string out;
    for (const Piece& piece : pieces) {
      if (!piece.is_variable) out += piece.text;
    }
    return out;
  }

  // Takes one path. If no path comes next, `path` is empty and there is no error.
  Status parse_path(std::string& path) {
    std::vector<Piece> pieces;
    TRY(lexer_.path(pieces));
    path = text_of(pieces);
    if (path.empty() && !pieces.empty()) return lexer_.error("empty path");
    return {};
  }

  // Takes the paths after a '|', if a '|' comes next.
  Status parse_implicit(std::vector<NodeId>& nodes) {
    if (!lexer_.take(Token::pipe)) return {};
    while (true) {
      std::string path;
      TRY(parse_path(path));
      if (path.empty()) return {};
      nodes.push_back(graph_.node(path));
    }
  }

  // Parses "build OUT | implicit outs: dyndep | implicit ins".
  Status parse_edge(Discoveries& found) {
    std::string path, more;
    TRY(parse_path(path));
    if (path.empty()) return lexer_.error("expected path");
    path = canonical_path(path);
    auto node = graph_.find_node(path);
    if (!node || !graph_.node(*node).made_by) {
      return lexer_.error(fmt::format("no build statement exists for '{}'", path));
    }
    auto [at, is_new] = found.try_emplace(*graph_.node(*node).made_by);
    if (!is_new) return lexer_.error(fmt::format("multiple statements for '{}'", path));
    TRY(parse_path(more));
    if (!more.empty()) return lexer_.error("explicit outputs not supported");
    TRY(parse_implicit(at->second.outputs));
    TRY(expect(Token::colon));
    if (lexer_.identifier() != "dyndep") {
      return lexer_.error("expected build command name 'dyndep'");
    }
    TRY(parse_path(more));
    if (!more.empty()) return lexer_.error("explicit inputs not supported");
    TRY(parse_implicit(at->second.inputs));
    if (lexer_.take(Token::pipe2)) return lexer_.error("order-only inputs not supported");
    TRY(expect(Token::newline));
    if (!lexer_.take(Token::indent)) return {};
    // The value of restat does not matter, because the bytes of the outputs show whether a command
    // left them unchanged.
    std::string_view name;
    TRY(parse_assignment(name, more));
    return name == "restat" ? Status{} : lexer_.error("binding is not 'restat'");
  }

  Graph& graph_;
  Lexer lexer_;
};

}  // namespace

Result<std::vector<NodeId>> load_dyndep(Graph& graph, NodeId file, std::string text) {
  const std::string path = graph.path(file);
  graph.set_dyndep_loaded(file);
  Discoveries found;
  DyndepParser parser(graph, path, graph.keep_text(std::move(text)));
  TRY(parser.parse(found));
  std::vector<NodeId> outputs;
  std::vector<EdgeId> users;
  graph.for_each_user(file, [&](EdgeId user) {
    if (graph.edge(user).dyndep == file) users.push_back(user);
  });
  for (EdgeId user : users) {
    auto discovery = found.find(user);
    if (discovery == found.end()) {
      return bad_input(fmt::format("'{}' not mentioned in its dyndep file '{}'",
                                   graph.path(graph.edge(user).outputs.front()), path));
    }
    const Discovery& its = discovery->second;
    TRY(graph.extend_edge(user, its.outputs, its.inputs));
    outputs.insert(outputs.end(), its.outputs.begin(), its.outputs.end());
    found.erase(discovery);
  }
  if (found.empty()) return outputs;
  return bad_input(fmt::format(
      "dyndep file '{}' mentions output '{}' whose build statement does not have a dyndep binding "
      "for the file",
      path, graph.path(graph.edge(found.begin()->first).outputs.front())));
}

}  // namespace evolve
