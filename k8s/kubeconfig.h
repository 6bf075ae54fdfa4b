// Where a cluster is and who we are there: from kubeconfig files, or from what a pod finds about
// itself. Pure: files are read by who calls.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::k8s {

// A program that says who we are, as gke-gcloud-auth-plugin does.
struct CredentialPlugin {
  std::string api_version;  // "client.authentication.k8s.io/v1", of what it prints
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to ours
  std::string install_hint;                        // where it is missing
};

// What is shown to the server. Empty: nothing of the kind.
struct Credential {
  std::string token;
  std::string certificate;  // PEM
  std::string key;          // PEM, of the certificate
};

struct Access {
  std::string context;         // its name; empty: that of the pod that we are in
  std::string server;          // "https://10.0.0.1:6443", without a slash at the end
  std::string user;            // its name in the kubeconfig
  std::string space;           // the namespace; "default" where nothing is said
  std::string authorities;     // PEM; empty: the machine's
  bool is_unverified = false;  // the server is believed to be the one that it says
  Credential credential;
  // A file with the token, which is renewed there every hour; empty: none.
  std::string token_file;
  std::optional<CredentialPlugin> plugin;
};

// What kubeconfig and its reader find by name: file to bytes.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// The access that `context` names, or the current context where it is empty, of the files at
// `paths` taken together as kubectl takes $KUBECONFIG: of two things of one name the first counts,
// and a file that is not there is none. Bad input: a file that is no kubeconfig, with its place; no
// such context; credentials of a kind that is not spoken here.
Result<Access> read_kubeconfig(const std::vector<std::string>& paths, const std::string& context,
                               const ReadFile& read);

// Where a pod's service account lies.
inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
// The access of the pod that we are in, whose server is at `host` and `port`.
Result<Access> read_service_account(const std::string& host, const std::string& port,
                                    const ReadFile& read);

// What a plugin is told in KUBERNETES_EXEC_INFO.
std::string plugin_request(const CredentialPlugin& plugin);
// What it printed. Bad input: no ExecCredential, of another version, or without any credential.
Result<Credential> parse_plugin_answer(const CredentialPlugin& plugin, std::string_view text);

}  // namespace evolve::k8s
