#include "engine/app/elsewhere/remote.h"

#include <fmt/format.h>

#include <utility>

#include "cache/account_http.h"
#include "engine/app/machine.h"
#include "engine/core/text/units.h"
#include "engine/world/clock.h"
#include "engine/world/http.h"

namespace evolve {

namespace {

constexpr const char* kMetadataHost = "metadata.google.internal";

}  // namespace

Remote::Remote(const RemoteSettings& settings, const cache::RemoteAddress& address, State& state)
    : http_(remote_http(settings, address)),
      cache_(*http_, *state.blobs, state.files, state.folder + "/blobs/incoming", address),
      uploads_(settings.writes ? std::make_unique<cache::Uploads>(*http_, *state.blobs, address)
                               : nullptr),
      memo_(*state.memo, *state.ledger, *state.blobs, cache_, uploads_.get()) {}

Result<std::optional<cache::RemoteAddress>> remote_address(const RemoteSettings& settings) {
  const std::string url = settings.url.empty() ? variable("EVOLVE_REMOTE_CACHE") : settings.url;
  if (url.empty()) return std::optional<cache::RemoteAddress>();
  std::string emulator = variable("STORAGE_EMULATOR_HOST");
  // The variable may have the forms that Google's own libraries accept.
  while (emulator.ends_with('/')) emulator.pop_back();
  if (!emulator.empty() && emulator.find("://") == std::string::npos) emulator.insert(0, "http://");
  TRY_ASSIGN(auto address, emulator.empty() ? cache::RemoteAddress::parse(url)
                                            : cache::RemoteAddress::parse(url, emulator));
  return std::optional(std::move(address));
}

std::unique_ptr<Http> remote_http(const RemoteSettings& settings,
                                  const cache::RemoteAddress& address) {
  world::HttpOptions options;
  options.timeout_seconds = settings.timeout_seconds;
  options.bearer_token = variable("EVOLVE_REMOTE_CACHE_TOKEN");
  options.user_password = variable("EVOLVE_REMOTE_CACHE_USER");
  const bool is_anyone = options.bearer_token.empty() && options.user_password.empty();
  auto http = std::make_unique<world::CurlHttp>(options);
  if (!is_anyone || !address.is_bucket() || !variable("STORAGE_EMULATOR_HOST").empty()) return http;
  const std::string host = variable("GCE_METADATA_HOST");
  return std::make_unique<cache::AccountHttp>(
      std::move(http), host.empty() ? kMetadataHost : host,
      [clock = world::SystemClock()]() mutable { return clock.monotonic_seconds(); });
}

Result<std::unique_ptr<Remote>> Remote::open(const RemoteSettings& settings, State& state) {
  auto address = remote_address(settings);
  if (!address) return std::move(address).error().within("--remote-cache");
  if (!*address && settings.writes) {
    return bad_input("--remote-write: --remote-cache is missing", "",
                     "name a remote cache, for example --remote-cache http://host:8080/cache");
  }
  if (!*address) return std::unique_ptr<Remote>();
  return std::unique_ptr<Remote>(new Remote(settings, **address, state));
}

RemoteReport Remote::finish() {
  RemoteReport out;
  out.downloads = cache_.counts();
  if (uploads_) out.uploads = uploads_->finish();
  return out;
}

std::vector<std::string> warnings_of(const RemoteReport& report) {
  std::vector<std::string> out;
  const auto& [downloads, uploads] = report;
  if (downloads.refused > 0) {
    out.push_back(fmt::format(
        "remote cache: {}: rejected{}; edges that need it run on this machine", downloads.refusal,
        downloads.refused > 1 ? fmt::format(", like {} more", downloads.refused - 1) : ""));
  }
  const std::string unstored =
      fmt::format("{} results were not stored in the remote cache", uploads.unstored);
  if (!downloads.fault.empty()) {
    out.push_back(fmt::format("remote cache: {}: not used again in this build{}", downloads.fault,
                              uploads.unstored > 0 ? "; " + unstored : ""));
    if (!uploads.fault.empty() && uploads.unstored > 0) out.back() += ": " + uploads.fault;
  } else if (uploads.unstored > 0) {
    out.push_back(fmt::format("remote cache: {}{}", unstored,
                              uploads.fault.empty() ? "" : ": " + uploads.fault));
  }
  return out;
}

nlohmann::json json_of(const RemoteReport& report) {
  const auto& [downloads, uploads] = report;
  return {{"taken", downloads.taken},      {"missed", downloads.missed},
          {"refused", downloads.refused},  {"bytes_taken", downloads.bytes},
          {"stored", uploads.stored},      {"unstored", uploads.unstored},
          {"bytes_stored", uploads.bytes}, {"faults", warnings_of(report)}};
}

std::string text_of(const RemoteReport& report) {
  const auto& [downloads, uploads] = report;
  return fmt::format("remote cache: {} results fetched ({}), {} stored ({})", downloads.taken,
                     size_text(downloads.bytes), uploads.stored, size_text(uploads.bytes));
}

}  // namespace evolve
