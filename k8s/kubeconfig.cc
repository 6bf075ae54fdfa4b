#include "k8s/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/core/crypto/base64.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/path.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/core/yaml/yaml_source.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;

// One entry of a file's clusters, contexts or users.
struct Named {
  std::string name;
  const YamlNode* value = nullptr;  // null: empty
  const YamlSource* source = nullptr;
  std::string folder;  // the file's folder, for relative paths in the file
};

// All kubeconfig files, merged.
struct Files {
  std::vector<YamlSource> sources;
  std::vector<Named> clusters, contexts, users;
  std::string current;
};

Status add_entries(const YamlSource& source, const std::string& folder, const char* list,
                   const char* key, std::vector<Named>& out) {
  const YamlNode* entries = source.root().find(list);
  if (entries == nullptr || entries->kind == YamlNode::Kind::null) return {};
  if (entries->kind != YamlNode::Kind::list) {
    return source.error_at(entries->at, fmt::format("{} must be a list", list));
  }
  for (const YamlNode& entry : entries->items) {
    const YamlNode* name = entry.find("name");
    if (name == nullptr || name->kind != YamlNode::Kind::scalar) {
      return source.error_at(entry.at, fmt::format("{}: an entry has no name", list));
    }
    out.push_back({name->text, entry.find(key), &source, folder});
  }
  return {};
}

Status add_file(const std::string& path, const YamlSource& source, Files& out) {
  if (source.root().kind != YamlNode::Kind::map) {
    return source.error_at(source.root().at, "not a kubeconfig: no clusters and no users");
  }
  const std::string folder = folder_prefix(path);
  for (auto [list, key, into] : {std::tuple("clusters", "cluster", &out.clusters),
                                 {"contexts", "context", &out.contexts},
                                 {"users", "user", &out.users}}) {
    TRY(add_entries(source, folder, list, key, *into));
  }
  const YamlNode* current = source.root().find("current-context");
  if (out.current.empty() && current != nullptr) out.current = current->text;
  return {};
}

// Returns the text of an entry's `key`; empty: the entry has no such key.
std::string text_of(const Named& in, const char* key) {
  const YamlNode* node = in.value == nullptr ? nullptr : in.value->find(key);
  return node == nullptr ? "" : node->text;
}

Result<const Named*> find(const std::vector<Named>& all, const std::string& name,
                          const std::string& what) {
  std::vector<std::string> names;
  for (const Named& one : all) {
    if (one.name == name) return &one;
    names.push_back(one.name);
  }
  auto near = nearest(name, names);
  std::string hint = near ? fmt::format("did you mean '{}'?", *near) : "";
  if (!near && !names.empty()) hint = fmt::format("one of: {}", fmt::join(names, ", "));
  return bad_input(fmt::format("kubeconfig: no {} named '{}'", what, name), "", hint);
}

// Returns the bytes of `key`-data, or of the file that `key` names; empty: the entry has neither.
Result<std::string> data_of(const Named& in, const std::string& key, const ReadFile& read) {
  const std::string data = text_of(in, (key + "-data").c_str());
  if (!data.empty()) {
    auto bytes = decode_base64(data);
    if (bytes) return *std::move(bytes);
    return in.source->error_at(in.value->find(key + "-data")->at, key + "-data is not base64");
  }
  const std::string path = text_of(in, key.c_str());
  if (path.empty()) return std::string();
  return read(path.starts_with('/') ? path : in.folder + path);
}

Result<CredentialPlugin> plugin_of(const Named& user, const YamlNode& node) {
  YamlErrors errors(*user.source);
  YamlMap map(errors, &node, "exec");
  CredentialPlugin out;
  map.text("command", out.command, Need::required);
  map.text("apiVersion", out.api_version, Need::required);
  map.text("installHint", out.install_hint);
  if (map.has("args")) map.texts("args", out.arguments);
  const YamlNode* variables = map.list("env");
  TRY(errors.status());
  if (variables != nullptr) {
    for (const YamlNode& variable : variables->items) {
      const YamlNode* name = variable.find("name");
      const YamlNode* value = variable.find("value");
      if (name != nullptr && value != nullptr) out.environment[name->text] = value->text;
    }
  }
  // A relative path with a slash starts at the folder of the kubeconfig file.
  const bool has_folder = out.command.find('/') != std::string::npos;
  if (has_folder && !out.command.starts_with('/')) out.command = user.folder + out.command;
  return out;
}

Status read_user(const Named& user, const ReadFile& read, Access& out) {
  for (const char* key : {"auth-provider", "username"}) {
    if (user.value == nullptr || user.value->find(key) == nullptr) continue;
    Error error = user.source->error_at(
        user.value->find(key)->at, fmt::format("users: '{}': {} is not supported", user.name, key));
    error.hint = "use a token, a client certificate or an exec plugin";
    return error;
  }
  TRY_ASSIGN(auto certificate, data_of(user, "client-certificate", read));
  TRY_ASSIGN(auto key, data_of(user, "client-key", read));
  out.credential = {text_of(user, "token"), std::move(certificate), std::move(key)};
  out.token_file = text_of(user, "tokenFile");
  if (!out.token_file.empty() && !out.token_file.starts_with('/')) {
    out.token_file = user.folder + out.token_file;
  }
  const YamlNode* exec = user.value == nullptr ? nullptr : user.value->find("exec");
  if (exec == nullptr) return {};
  TRY_ASSIGN(auto plugin, plugin_of(user, *exec));
  out.plugin = std::move(plugin);
  return {};
}

}  // namespace

Result<Access> read_kubeconfig(const std::vector<std::string>& paths, const std::string& context,
                               const ReadFile& read) {
  Files files;
  files.sources.reserve(paths.size());  // entries point into them
  for (const std::string& path : paths) {
    auto text = read(path);
    if (!text) continue;
    TRY_ASSIGN(auto source, YamlSource::parse(*text, path));
    files.sources.push_back(std::move(source));
    TRY(add_file(path, files.sources.back(), files));
  }
  if (files.sources.empty()) {
    return bad_input(fmt::format("kubeconfig: {}: cannot be read", fmt::join(paths, ", ")), "",
                     "name another file with --kubeconfig FILE, or with $KUBECONFIG");
  }
  const std::string name = context.empty() ? files.current : context;
  if (name.empty())
    return bad_input("kubeconfig: no current context", "", "name a context with --context NAME");
  TRY_ASSIGN(auto found, find(files.contexts, name, "context"));
  TRY_ASSIGN(auto cluster, find(files.clusters, text_of(*found, "cluster"), "cluster"));
  TRY_ASSIGN(auto user, find(files.users, text_of(*found, "user"), "user"));

  Access out;
  out.context = name;
  out.user = user->name;
  out.space = text_of(*found, "namespace");
  if (out.space.empty()) out.space = "default";
  out.server = text_of(*cluster, "server");
  while (out.server.ends_with('/')) out.server.pop_back();
  if (!out.server.starts_with("https://") && !out.server.starts_with("http://")) {
    return bad_input(fmt::format("kubeconfig: cluster '{}': '{}' is not the address of a server",
                                 cluster->name, out.server));
  }
  TRY_ASSIGN(auto authorities, data_of(*cluster, "certificate-authority", read));
  out.authorities = std::move(authorities);
  out.is_unverified = text_of(*cluster, "insecure-skip-tls-verify") == "true";
  TRY(read_user(*user, read, out));
  return out;
}

Result<Access> read_service_account(const std::string& host, const std::string& port,
                                    const ReadFile& read) {
  const std::string folder = kServiceAccount;
  Access out;
  const bool is_ip6 = host.find(':') != std::string::npos;
  out.server = fmt::format("https://{}:{}", is_ip6 ? "[" + host + "]" : host, port);
  out.token_file = folder + "/token";
  TRY_ASSIGN(auto authorities, read(folder + "/ca.crt"));
  out.authorities = std::move(authorities);
  auto space = read(folder + "/namespace");
  out.space = space ? *std::move(space) : "default";
  return out;
}

std::string plugin_request(const CredentialPlugin& plugin) {
  return json_line(json{{"apiVersion", plugin.api_version},
                        {"kind", "ExecCredential"},
                        {"spec", {{"interactive", false}}}});
}

Result<Credential> parse_plugin_answer(const CredentialPlugin& plugin, std::string_view text) {
  const std::string where = "credential plugin '" + plugin.command + "'";
  const json answer = json_or_null(text);
  if (!answer.is_object() || answer.value("kind", "") != "ExecCredential") {
    return bad_input(where + ": the output is not an ExecCredential");
  }
  if (answer.value("apiVersion", "") != plugin.api_version) {
    return bad_input(fmt::format("{}: uses {}, but the kubeconfig requires {}", where,
                                 answer.value("apiVersion", "nothing"), plugin.api_version));
  }
  const json status = answer.value("status", json::object());
  auto part = [&](const char* key) {
    return status.is_object() && status.contains(key) && status[key].is_string()
               ? status[key].get<std::string>()
               : std::string();
  };
  Credential out = {part("token"), part("clientCertificateData"), part("clientKeyData")};
  if (out.token.empty() && out.certificate.empty()) {
    return bad_input(where + ": the output has no credential");
  }
  return out;
}

}  // namespace evolve::k8s
