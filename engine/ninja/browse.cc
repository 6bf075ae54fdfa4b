#include "engine/ninja/browse.h"

#include <fmt/format.h>
#include <httplib.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "engine/core/text/markup.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/tool_options.h"

namespace evolve::ninja {

namespace {

constexpr int kUsualPort = 8000;

constexpr const char* kHead =
    "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
    "<style>body {{ font: 14px sans-serif; margin: 2em; }} h1, a {{ font-family: monospace; }}\n"
    "h1 {{ font-size: 130%; }} h2 {{ font-size: 110%; }} ul {{ columns: 2; list-style: none; "
    "padding: 0; }}"
    "</style>\n<h1>{0}</h1>\n";

// Encodes a text for the part of an address after the question mark.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("-_.~/").find(c) != std::string_view::npos;
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// Files by name, each with a remark.
using Entries = std::set<std::pair<std::string, std::string>>;

std::string list_of(const std::string& title, const Entries& entries) {
  if (entries.empty()) return "";
  std::string out = fmt::format("<h2>{}</h2>\n<ul>\n", title);
  for (const auto& [path, remark] : entries) {
    out += fmt::format("<li><a href=\"?{}\">{}</a>{}\n", percent_encoded(path),
                       escaped_markup(path), remark);
  }
  return out + "</ul>\n";
}

struct BrowseOptions {
  std::string host = "localhost";
  int port = kUsualPort;
  bool opens_browser = true;
  std::string target = "all";
};

// Reads the tool's options. Nullopt: the usage must be printed.
std::optional<BrowseOptions> read_options(const std::vector<std::string>& arguments) {
  constexpr int kNoBrowser = 1;
  BrowseOptions options;
  bool is_number = true;
  auto rest = read_tool_options(arguments, "p:a:h",
                                {{"port", required_argument, nullptr, 'p'},
                                 {"hostname", required_argument, nullptr, 'a'},
                                 {"no-browser", no_argument, nullptr, kNoBrowser}},
                                [&](int option, const char* value) {
                                  if (option == kNoBrowser) options.opens_browser = false;
                                  if (option == 'a') options.host = value;
                                  if (option == 'p') {
                                    char* end = nullptr;
                                    const long port = std::strtol(value, &end, 10);
                                    is_number = *end == '\0' && port >= 0 && port < 65536;
                                    options.port = static_cast<int>(port);
                                  }
                                  return option == kNoBrowser || option == 'a' || option == 'p';
                                });
  if (!rest || !is_number || rest->size() > 1) return std::nullopt;
  if (!rest->empty()) options.target = rest->front();
  return options;
}

}  // namespace

std::string page_of(const Graph& graph, const std::string& target) {
  auto node = find_target(graph, target);
  if (!node) return fmt::format(kHead, escaped_markup(node.error().message));
  std::string out = fmt::format(kHead, escaped_markup(graph.node(*node).path));
  if (auto maker = graph.node(*node).made_by) {
    const Edge& edge = graph.edge(*maker);
    const size_t explicit_count = edge.explicit_inputs().size();
    const size_t content_count = edge.content_inputs().size();
    Entries inputs;
    for (size_t i = 0; i < edge.inputs.size(); ++i) {
      inputs.emplace(graph.path(edge.inputs[i]), i < explicit_count  ? ""
                                                 : i < content_count ? " (implicit)"
                                                                     : " (order-only)");
    }
    out += fmt::format("<p>built by the rule <code>{}</code>\n", escaped_markup(edge.rule->name));
    out += list_of("from", inputs);
  } else {
    out += "<p>no rule makes it\n";
  }
  Entries outputs;
  graph.for_each_user(*node, [&](EdgeId user) {
    for (NodeId output : graph.edge(user).outputs) outputs.emplace(graph.path(output), "");
  });
  return out + list_of("used for", outputs);
}

int browse(const ToolContext& context, const std::vector<std::string>& arguments) {
  auto options = read_options(arguments);
  if (!options) {
    print_plain("usage: ninja -t browse [--port N] [--hostname HOST] [--no-browser] [TARGET]\n");
    return 1;
  }
  httplib::Server server;
  server.Get("/", [&](const httplib::Request& request, httplib::Response& response) {
    if (request.params.empty())
      return response.set_redirect("/?" + percent_encoded(options->target));
    response.set_content(page_of(context.graph, request.params.begin()->first), "text/html");
  });
  // Port 0 means any free port.
  const int port = options->port == 0 ? server.bind_to_any_port(options->host) : options->port;
  const bool is_bound = options->port == 0 ? port > 0 : server.bind_to_port(options->host, port);
  if (!is_bound) return print_fatal(fmt::format("cannot listen on {}:{}", options->host, port));
  const std::string address = fmt::format("http://{}:{}", options->host, port);
  fmt::print("Web server running on {}:{}, ctl-C to abort...\n", options->host, port);
  std::fflush(stdout);
  if (options->opens_browser && ::fork() == 0) {
    ::execlp("xdg-open", "xdg-open", address.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  server.listen_after_bind();
  return 0;
}

}  // namespace evolve::ninja
