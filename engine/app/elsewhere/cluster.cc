#include "engine/app/elsewhere/cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/app/machine.h"
#include "engine/app/state.h"
#include "engine/world/clock.h"
#include "engine/world/files.h"
#include "engine/world/process/capture.h"

namespace evolve {

namespace {

using nlohmann::json;

// Returns the files that kubectl would read.
std::vector<std::string> kubeconfigs(const ClusterSettings& settings) {
  if (!settings.kubeconfig.empty()) return {settings.kubeconfig};
  std::vector<std::string> out;
  std::string all = variable("KUBECONFIG");
  for (size_t at = 0; at < all.size();) {
    const size_t colon = std::min(all.find(':', at), all.size());
    if (colon > at) out.push_back(all.substr(at, colon - at));
    at = colon + 1;
  }
  if (out.empty()) out.push_back(variable("HOME") + "/.kube/config");
  return out;
}

Result<k8s::Access> find_access(const ClusterSettings& settings) {
  const std::vector<std::string> paths = kubeconfigs(settings);
  const bool has_file = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
  });
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  if (!has_file && settings.kubeconfig.empty() && !host.empty()) {
    return k8s::read_service_account(host, variable("KUBERNETES_SERVICE_PORT"), world::read_file);
  }
  return k8s::read_kubeconfig(paths, settings.context, world::read_file);
}

Result<k8s::Credential> ask_plugin(const k8s::CredentialPlugin& plugin) {
  std::vector<std::string> words = {plugin.command};
  words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
  auto environment = process_environment();
  for (const auto& [name, value] : plugin.environment) environment[name] = value;
  environment["KUBERNETES_EXEC_INFO"] = k8s::plugin_request(plugin);
  TRY_ASSIGN(auto captured, world::capture(words, environment));
  if (captured.code != 0) {
    Error error = external(
        fmt::format("credential plugin '{}': exited with {}", plugin.command, captured.code));
    error.detail = captured.err;
    while (error.detail.ends_with('\n')) error.detail.pop_back();
    error.hint = plugin.install_hint.substr(0, plugin.install_hint.find('\n'));
    return error;
  }
  return k8s::parse_plugin_answer(plugin, captured.out);
}

}  // namespace

Cluster::Cluster(k8s::Access access, const world::HttpOptions& options)
    : access_(std::move(access)),
      http_(options),
      watching_http_(options),
      api_(http_, access_.server, connection()),
      watching_(watching_http_, access_.server, connection()) {}

k8s::ApiConnection Cluster::connection() {
  return {[this](bool is_refused) { return token(is_refused); }, world::patience().pause,
          [clock = world::SystemClock()]() mutable { return clock.monotonic_seconds(); }};
}

Result<std::unique_ptr<Cluster>> Cluster::open(const ClusterSettings& settings) {
  TRY_ASSIGN(auto access, find_access(settings));
  if (!settings.space.empty()) access.space = settings.space;
  if (access.plugin) {
    TRY_ASSIGN(auto credential, ask_plugin(*access.plugin));
    access.credential = std::move(credential);
  }
  world::HttpOptions options;
  options.authorities = access.authorities;
  options.is_unverified = access.is_unverified;
  options.certificate = access.credential.certificate;
  options.certificate_key = access.credential.key;
  // After the user has interrupted, our objects on the cluster still have to be removed.
  options.outlives_interrupt = true;
  return std::unique_ptr<Cluster>(new Cluster(std::move(access), options));
}

// Returns the token. A token from a file or a plugin lasts about an hour, so after a rejection
// (`is_refused`) the token is read or requested again.
Result<std::string> Cluster::token(bool is_refused) {
  const std::lock_guard lock(mutex_);
  std::string& known = access_.credential.token;
  if (!access_.token_file.empty() && (known.empty() || is_refused)) {
    TRY_ASSIGN(auto text, world::read_file(access_.token_file));
    known = std::move(text);
    while (known.ends_with('\n')) known.pop_back();
  }
  if (access_.plugin && is_refused) {
    TRY_ASSIGN(auto credential, ask_plugin(*access_.plugin));
    known = credential.token;
  }
  return known;
}

}  // namespace evolve
