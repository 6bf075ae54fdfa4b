// Tests of kubeconfig files, as kubectl, GKE and kind write them, and as people break them.
#include "k8s/kubeconfig.h"

#include <fmt/format.h>

#include <map>

#include "engine/core/crypto/base64.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::k8s;

namespace {

// Files in memory.
struct Disk {
  std::map<std::string, std::string> files;

  Result<Access> read(const std::vector<std::string>& paths, const std::string& context = "") {
    return read_kubeconfig(paths, context, reader());
  }
  ReadFile reader() {
    return [this](const std::string& path) -> Result<std::string> {
      auto found = files.find(path);
      if (found == files.end()) return external(path + ": no such file");
      return found->second;
    };
  }
};

const char* const kGke = R"(apiVersion: v1
kind: Config
current-context: gke_proj_us-central1_tpu7x
clusters:
- name: gke_proj_us-central1_tpu7x
  cluster:
    certificate-authority-data: LS1jYS0tCg==
    server: https://34.1.2.3/
contexts:
- name: gke_proj_us-central1_tpu7x
  context: {cluster: gke_proj_us-central1_tpu7x, user: gke_user}
- name: other
  context: {cluster: gke_proj_us-central1_tpu7x, user: by-file, namespace: evolve}
users:
- name: gke_user
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      args: [--use_application_default_credentials]
      env: [{name: CLOUDSDK_CORE_PROJECT, value: proj}]
      installHint: Install gke-gcloud-auth-plugin
      provideClusterInfo: true
- name: by-file
  user: {client-certificate: pki/me.crt, client-key: /abs/me.key, token: abc}
)";

std::string message_of(const Result<Access>& access) {
  REQUIRE_FALSE(access);
  CHECK(access.error().code == ErrorCode::bad_input);
  return access.error().message;
}

}  // namespace

TEST_CASE("GKE's kubeconfig is read, plugin and all") {
  Disk disk{{{"/home/me/.kube/config", kGke}}};
  auto access = disk.read({"/home/me/.kube/config"});
  REQUIRE(access);
  CHECK(access->context == "gke_proj_us-central1_tpu7x");
  CHECK(access->server == "https://34.1.2.3");
  CHECK(access->space == "default");
  CHECK(access->authorities == "--ca--\n");
  REQUIRE(access->plugin);
  CHECK(access->plugin->command == "gke-gcloud-auth-plugin");
  CHECK(access->plugin->arguments ==
        std::vector<std::string>{"--use_application_default_credentials"});
  CHECK(access->plugin->environment.at("CLOUDSDK_CORE_PROJECT") == "proj");
}

TEST_CASE("a context is chosen by name, and its files are found beside the kubeconfig") {
  Disk disk{{{"/k/config", kGke}, {"/k/pki/me.crt", "CERT"}, {"/abs/me.key", "KEY"}}};
  auto access = disk.read({"/k/config"}, "other");
  REQUIRE(access);
  CHECK(access->space == "evolve");
  CHECK(access->credential.token == "abc");
  CHECK(access->credential.certificate == "CERT");
  CHECK(access->credential.key == "KEY");
  CHECK_FALSE(access->plugin);
}

TEST_CASE("of several files the first to name a thing counts") {
  Disk disk{{{"/a", "current-context: other\nusers:\n- {name: by-file, user: {token: first}}\n"},
             {"/b", kGke}}};
  auto access = disk.read({"/missing", "/a", "/b"});
  REQUIRE(access);
  CHECK(access->context == "other");
  CHECK(access->credential.token == "first");
}

TEST_CASE("a kubeconfig's error has its place") {
  Disk disk{{{"/gke", kGke},
             {"/list", "- a\n"},
             {"/nameless", "clusters:\n- cluster: {}\n"},
             {"/basic",
              "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
              "clusters:\n- {name: k, cluster: {server: 'https://x'}}\n"
              "users:\n- {name: u, user: {username: me, password: x}}\n"},
             {"/bad64",
              "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
              "clusters:\n- {name: k, cluster: {server: 'https://x', "
              "certificate-authority-data: '%%'}}\nusers:\n- {name: u}\n"}}};
  CHECK(message_of(disk.read({"/none"})) == "kubeconfig: /none: cannot be read");
  CHECK(message_of(disk.read({"/list"})) ==
        "/list:1:1: not a kubeconfig: no clusters and no users");
  CHECK(message_of(disk.read({"/nameless"})) == "/nameless:2:3: clusters: an entry has no name");
  CHECK(message_of(disk.read({"/basic"})) == "/basic:7:30: users: 'u': username is not supported");
  CHECK(message_of(disk.read({"/bad64"})) ==
        "/bad64:5:72: certificate-authority-data is not base64");
  auto wrong = disk.read({"/gke"}, "othr");
  CHECK(message_of(wrong) == "kubeconfig: no context named 'othr'");
  CHECK(wrong.error().hint == "did you mean 'other'?");
}

TEST_CASE("base64 is decoded whole or not at all") {
  CHECK(decode_base64("YWI=") == "ab");
  CHECK(decode_base64("YWJj\n ZGVm") == "abcdef");
  CHECK(decode_base64("") == "");
  for (const char* text : {"a", "YW", "YWJ", "====", "Y===", "YW=j", "YWI*", "YWI=YWI="}) {
    INFO(text);
    CHECK(!decode_base64(text));
  }
}

TEST_CASE("a pod finds itself") {
  const std::string folder = kServiceAccount;
  Disk disk{{{folder + "/ca.crt", "CA"}, {folder + "/namespace", "evolve"}}};
  auto access = read_service_account("10.0.0.1", "443", disk.reader());
  REQUIRE(access);
  CHECK(access->server == "https://10.0.0.1:443");
  CHECK(access->space == "evolve");
  CHECK(access->token_file == folder + "/token");
  auto six = read_service_account("fd00::1", "443", disk.reader());
  REQUIRE(six);
  CHECK(six->server == "https://[fd00::1]:443");
}

TEST_CASE("a plugin's answer counts only if it has the right form") {
  const CredentialPlugin plugin = {"client.authentication.k8s.io/v1", "plug", {}, {}, ""};
  auto answer = [&](const std::string& version, const std::string& status) {
    return parse_plugin_answer(
        plugin, fmt::format(R"({{"kind":"ExecCredential","apiVersion":"{}","status":{}}})", version,
                            status));
  };
  auto good =
      answer(plugin.api_version, R"({"token":"t","expirationTimestamp":"2030-01-01T00:00:00Z"})");
  REQUIRE(good);
  CHECK(good->token == "t");
  CHECK_FALSE(answer("client.authentication.k8s.io/v1beta1", R"({"token":"t"})"));
  CHECK_FALSE(answer(plugin.api_version, "{}"));
  CHECK_FALSE(answer(plugin.api_version, "[1]"));
  CHECK_FALSE(parse_plugin_answer(plugin, "Please log in"));
}
