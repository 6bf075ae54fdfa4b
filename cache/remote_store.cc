#include "cache/remote_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "cache/record_message.h"
#include "cache/remote.h"

namespace evolve::cache {

namespace {

bool is_there(const HttpRequest& request, const HttpResponse& response) {
  const bool is_reading =
      request.method == HttpRequest::Method::get || request.method == HttpRequest::Method::head;
  return is_success(response.status) && !(is_reading && is_absent(response.status));
}

}  // namespace

Result<std::vector<HttpResponse>> RemoteStore::perform(std::span<const HttpRequest> requests,
                                                       bool may_lack) {
  auto out = perform_patiently(http_, requests, patience_);
  for (size_t i = 0; i < out.size(); ++i) {
    const bool lacks = is_absent(out[i].status);
    if (is_there(requests[i], out[i]) || (lacks && may_lack)) continue;
    Error error = external(fault_text(requests[i], out[i]));
    if (lacks) error.code = ErrorCode::failed;
    return error;
  }
  return out;
}

Result<StoredFile> RemoteStore::identify(const std::string& path) {
  Known before;
  {
    const std::lock_guard lock(mutex_);
    if (auto known = known_.find(path); known != known_.end()) before = known->second;
  }
  TRY_ASSIGN(auto now, files_.look(path, &before.state));
  if (!now) return failed(fmt::format("{}: no such file", path));
  if (!before.file.sha256.empty() && now->content == before.state.content) return before.file;
  auto found = look_at_file(path);
  if (!found || found->file.bytes > kMostRemoteBytes) {
    return failed(
        fmt::format("{}: {}", path, found ? "is too large for the store" : "cannot be read"));
  }
  if (found->digest != now->content) return failed(path + ": changed while being read");
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(path, Known{*now, found->file});
  return found->file;
}

Result<std::vector<StoredFile>> RemoteStore::put(std::span<const std::string> paths) {
  std::vector<StoredFile> out;
  std::vector<HttpRequest> looks, puts;
  std::vector<std::string> asked;  // files that the requests ask about, by SHA-256
  std::unordered_map<std::string, std::string> absent;
  for (const std::string& path : paths) {
    TRY_ASSIGN(auto file, identify(path));
    out.push_back(file);
    const std::lock_guard lock(mutex_);
    if (there_.contains(file.sha256) || !absent.emplace(file.sha256, path).second) continue;
    looks.push_back(address_.look(RemoteAddress::file(file.sha256)));
    asked.push_back(file.sha256);
  }
  TRY_ASSIGN(auto answers, perform(looks, true));
  for (size_t i = 0; i < asked.size(); ++i) {
    if (!is_there(looks[i], answers[i])) {
      puts.push_back(address_.put_file(RemoteAddress::file(asked[i]), absent.at(asked[i])));
    }
  }
  TRY(perform(puts, false));
  const std::lock_guard lock(mutex_);
  there_.insert(asked.begin(), asked.end());
  return out;
}

Status RemoteStore::fetch(std::span<const WantedFile> files) {
  std::vector<HttpRequest> requests;
  requests.reserve(files.size());
  for (const WantedFile& wanted : files) {
    requests.push_back(
        address_.get(RemoteAddress::file(wanted.file.sha256), wanted.file.bytes, wanted.path));
  }
  TRY_ASSIGN(auto answers, perform(requests, false));
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [file, path] = files[i];
    const auto found = look_at_file(path);
    const bool is_it = found && !answers[i].is_too_long && found->file.bytes == file.bytes &&
                       found->file.sha256 == file.sha256;
    if (!is_it) return failed(requests[i].url + ": does not match its digest");
    if (file.is_executable) (void)::chmod(path.c_str(), S_IRWXU);
  }
  return {};
}

Status RemoteStore::put_entry(const std::string& name, const StoreEntry& record) {
  const HttpRequest request = address_.put(RemoteAddress::record(name), encode_record(record));
  if (static_cast<int64_t>(request.body.size()) > kMostEntryBytes) {
    return failed(fmt::format("record {}: is larger than {} bytes", name, kMostEntryBytes));
  }
  TRY(perform(std::span(&request, 1), false));
  return {};
}

Result<std::vector<std::optional<StoreEntry>>> RemoteStore::records(
    std::span<const std::string> names) {
  std::vector<HttpRequest> requests;
  requests.reserve(names.size());
  for (const std::string& name : names) {
    requests.push_back(address_.get(RemoteAddress::record(name), kMostEntryBytes));
  }
  TRY_ASSIGN(auto answers, perform(requests, true));
  std::vector<std::optional<StoreEntry>> out;
  out.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const HttpResponse& answer = answers[i];
    const bool is_whole = is_there(requests[i], answer) && !answer.is_too_long;
    out.push_back(is_whole ? decode_record(answer.body) : std::nullopt);
  }
  return out;
}

}  // namespace evolve::cache
