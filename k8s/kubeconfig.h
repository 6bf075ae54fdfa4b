// The access to a cluster: the cluster's address and our credential, from kubeconfig files or from
// a pod's own files. Pure: the caller reads the files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::k8s {

// A program that gives our credential, such as gke-gcloud-auth-plugin.
struct CredentialPlugin {
  std::string api_version;  // of its output: "client.authentication.k8s.io/v1"
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to ours
  std::string install_hint;                        // for a program that is missing
};

// The credential for the server. An empty member means that this part is missing.
struct Credential {
  std::string token;
  std::string certificate;  // PEM
  std::string key;          // PEM, of the certificate
};

struct Access {
  std::string context;         // the context's name; empty: the pod that we are in
  std::string server;          // "https://10.0.0.1:6443", without a slash at the end
  std::string user;            // the user's name in the kubeconfig
  std::string space;           // the namespace; "default" unless one is given
  std::string authorities;     // PEM; empty: the machine's
  bool is_unverified = false;  // the server's certificate is not checked
  Credential credential;
  // The file with the token; empty: none. The token in the file is renewed every hour.
  std::string token_file;
  std::optional<CredentialPlugin> plugin;
};

// Returns the bytes of the file at `path`.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Returns the access of `context`; empty: of the current context. The files at `paths` are merged
// as kubectl merges the files of $KUBECONFIG: of two entries with the same name the first counts,
// and a file that cannot be read is skipped. Bad input: a file is not a kubeconfig (with the place
// of the fault), the context is missing, or credentials are of a kind that is not supported.
Result<Access> read_kubeconfig(const std::vector<std::string>& paths, const std::string& context,
                               const ReadFile& read);

// The folder of a pod's service account.
inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
// Returns the access of the pod that we are in. The API server is at `host` and `port`.
Result<Access> read_service_account(const std::string& host, const std::string& port,
                                    const ReadFile& read);

// Returns the request that a plugin finds in KUBERNETES_EXEC_INFO.
std::string plugin_request(const CredentialPlugin& plugin);
// Reads a plugin's output. Bad input: the output is not an ExecCredential, has another version, or
// has no credential.
Result<Credential> parse_plugin_answer(const CredentialPlugin& plugin, std::string_view text);

}  // namespace evolve::k8s
