#include "engine/cli/remote.h"

#include <fmt/format.h>

#include <utility>

#include "engine/cli/machine.h"
#include "engine/cli/report.h"

namespace evolve::cli {

Remote::Remote(world::HttpOptions http, const cache::RemoteAddress& address, bool writes,
               State& state)
    : http_(std::move(http)),
      cache_(http_, *state.blobs, state.files, state.folder + "/blobs/incoming", address),
      uploads_(writes ? std::make_unique<cache::Uploads>(http_, *state.blobs, address) : nullptr),
      memo_(*state.memo, *state.ledger, *state.blobs, cache_, uploads_.get()) {}

Result<std::optional<cache::RemoteAddress>> remote_address(const RemoteSettings& settings) {
  const std::string url = settings.url.empty() ? variable("EVOLVE_REMOTE_CACHE") : settings.url;
  if (url.empty()) return std::optional<cache::RemoteAddress>();
  const std::string emulator = variable("STORAGE_EMULATOR_HOST");
  auto address = emulator.empty() ? cache::RemoteAddress::parse(url)
                                  : cache::RemoteAddress::parse(url, emulator);
  if (!address) return std::move(address).error();
  return std::optional(*std::move(address));
}

world::HttpOptions remote_credentials(const RemoteSettings& settings) {
  world::HttpOptions out;
  out.timeout_seconds = settings.timeout_seconds;
  out.bearer_token = variable("EVOLVE_REMOTE_CACHE_TOKEN");
  out.user_password = variable("EVOLVE_REMOTE_CACHE_USER");
  return out;
}

Result<std::unique_ptr<Remote>> Remote::open(const RemoteSettings& settings, State& state) {
  auto address = remote_address(settings);
  if (!address) return std::move(address).error().within("--remote-cache");
  if (!*address && settings.writes) {
    return bad_input("--remote-write: no remote cache is named", "",
                     "--remote-cache http://host:8080/cache");
  }
  if (!*address) return std::unique_ptr<Remote>();
  return std::unique_ptr<Remote>(
      new Remote(remote_credentials(settings), **address, settings.writes, state));
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
        "remote cache: {}: refused{}; what needs it runs here", downloads.refusal,
        downloads.refused > 1 ? fmt::format(", as {} more were", downloads.refused - 1) : ""));
  }
  const std::string unstored = fmt::format("{} results were not stored there", uploads.unstored);
  if (!downloads.fault.empty()) {
    out.push_back(fmt::format("remote cache: {}: not asked again in this build{}", downloads.fault,
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
  return fmt::format("remote cache: {} results taken ({}), {} stored ({})", downloads.taken,
                     size_text(downloads.bytes), uploads.stored, size_text(uploads.bytes));
}

}  // namespace evolve::cli
