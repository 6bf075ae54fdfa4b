#include "engine/world/http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "engine/world/signals.h"

namespace evolve::world {

namespace {

constexpr size_t kAtOnce = 32;
constexpr int kPollMilliseconds = 100;
constexpr long kLeastBytesPerSecond = 1000;
constexpr int kMostTimeouts = 60;
// Limit for the body of an answer that nobody reads, in bytes.
constexpr int64_t kMostDiscarded = 1 << 20;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using Easy = std::unique_ptr<CURL, void (*)(CURL*)>;
using Headers = std::unique_ptr<curl_slist, void (*)(curl_slist*)>;

// A request in progress.
struct Transfer {
  const HttpRequest& request;
  HttpResponse& response;
  Easy handle{curl_easy_init(), curl_easy_cleanup};
  Headers headers{nullptr, curl_slist_free_all};
  File file{nullptr, std::fclose};
  int64_t received = 0;
  bool is_enough = false;  // `take` wants no more
  std::array<char, CURL_ERROR_SIZE> words{};
};

// Reports the last error as a fault of the request's file, which no repetition mends.
void blame_file(Transfer& transfer) {
  transfer.response.fault = fmt::format("{}: {}", transfer.request.file, std::strerror(errno));
  transfer.response.is_local_fault = true;
}

bool is_answering(CURL* handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return is_success(static_cast<int>(status));
}

size_t receive(char* bytes, size_t, size_t count, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  if (transfer->request.take && is_answering(transfer->handle.get())) {
    transfer->is_enough = !transfer->request.take({bytes, count});
    return transfer->is_enough ? 0 : count;
  }
  transfer->received += static_cast<int64_t>(count);
  if (transfer->received > transfer->request.most_bytes) {
    transfer->response.is_too_long = true;
    return 0;
  }
  if (transfer->file) {
    const size_t written = std::fwrite(bytes, 1, count, transfer->file.get());
    if (written < count) blame_file(*transfer);
    return written;
  }
  transfer->response.body.append(bytes, count);
  return count;
}

// Receives the answer to a request that sent something. Only the start of the body is kept, because
// it may say what was wrong.
size_t receive_start(char* bytes, size_t, size_t count, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  transfer->received += static_cast<int64_t>(count);
  const auto room = transfer->request.most_bytes - std::ssize(transfer->response.body);
  const auto kept = std::min<int64_t>(std::max<int64_t>(room, 0), static_cast<int64_t>(count));
  transfer->response.body.append(bytes, static_cast<size_t>(kept));
  return transfer->received > std::max(kMostDiscarded, transfer->request.most_bytes) ? 0 : count;
}

bool open_file(Transfer& transfer, const char* mode) {
  transfer.file.reset(std::fopen(transfer.request.file.c_str(), mode));
  if (!transfer.file) blame_file(transfer);
  return transfer.file != nullptr;
}

void add_header(Transfer& transfer, const char* text) {
  transfer.headers.reset(curl_slist_append(transfer.headers.release(), text));
}

bool prepare_sending(Transfer& transfer) {
  CURL* handle = transfer.handle.get();
  const HttpRequest& request = transfer.request;
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, request.take ? receive : receive_start);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  // Turns off "Expect: 100-continue", which costs a second on servers that do not answer it.
  add_header(transfer, "Expect:");
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method_name(request.method));
  if (request.file.empty()) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    if (request.headers.empty()) add_header(transfer, "Content-Type: application/octet-stream");
    return true;
  }
  if (!open_file(transfer, "rbe")) return false;
  (void)std::fseek(transfer.file.get(), 0, SEEK_END);
  const long size = std::ftell(transfer.file.get());
  std::rewind(transfer.file.get());
  curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(handle, CURLOPT_READDATA, transfer.file.get());
  curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  return true;
}

void set_pem(CURL* handle, CURLoption option, const std::string& pem) {
  if (pem.empty()) return;
  curl_blob blob = {const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
  curl_easy_setopt(handle, option, &blob);
}

void prepare_security(CURL* handle, const HttpOptions& options) {
  set_pem(handle, CURLOPT_CAINFO_BLOB, options.authorities);
  set_pem(handle, CURLOPT_SSLCERT_BLOB, options.certificate);
  set_pem(handle, CURLOPT_SSLKEY_BLOB, options.certificate_key);
  if (options.is_unverified) {
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!options.bearer_token.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(handle, CURLOPT_XOAUTH2_BEARER, options.bearer_token.c_str());
  } else if (!options.user_password.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(handle, CURLOPT_USERPWD, options.user_password.c_str());
  }
}

// Sets how long an answer may take. A request with `take` has only its own limits.
void prepare_limits(CURL* handle, const HttpRequest& request, const HttpOptions& options) {
  const bool is_free = static_cast<bool>(request.take);
  if (request.most_silence > 0) {
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.most_silence));
  } else if (!is_free) {
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.timeout_seconds));
  }
  if (request.most_seconds > 0) {
    curl_easy_setopt(handle, CURLOPT_TIMEOUT, static_cast<long>(request.most_seconds));
  } else if (!is_free) {
    curl_easy_setopt(handle, CURLOPT_TIMEOUT,
                     static_cast<long>(options.timeout_seconds) * kMostTimeouts);
  }
}

// Sets up the transfer. False: the request's file cannot be opened.
bool prepare(Transfer& transfer, const HttpOptions& options) {
  CURL* handle = transfer.handle.get();
  curl_easy_setopt(handle, CURLOPT_URL, transfer.request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer.words.data());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.timeout_seconds));
  prepare_limits(handle, transfer.request, options);
  // Keepalive finds a server that vanished without closing the connection.
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  prepare_security(handle, options);
  for (const std::string& header : transfer.request.headers) add_header(transfer, header.c_str());
  switch (transfer.request.method) {
    case HttpRequest::Method::head: curl_easy_setopt(handle, CURLOPT_NOBODY, 1L); break;
    case HttpRequest::Method::get:
      if (!transfer.request.file.empty() && !open_file(transfer, "wbe")) return false;
      curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
      curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
      break;
    default:
      if (!prepare_sending(transfer)) return false;
      break;
  }
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer.headers.get());
  return true;
}

void finish(Transfer& transfer, CURLcode code) {
  HttpResponse& response = transfer.response;
  long status = 0;
  curl_easy_getinfo(transfer.handle.get(), CURLINFO_RESPONSE_CODE, &status);
  // fclose() writes the rest, so a full disk may show only now.
  const bool is_written = !transfer.file || std::fclose(transfer.file.release()) == 0;
  if (!is_written && !response.is_local_fault) blame_file(transfer);
  if (response.is_local_fault) return;
  if (code == CURLE_OK || response.is_too_long || transfer.is_enough) {
    response.status = static_cast<int>(status);
    curl_off_t seconds = 0;
    curl_easy_getinfo(transfer.handle.get(), CURLINFO_RETRY_AFTER, &seconds);
    response.retry_after_seconds = static_cast<double>(seconds);
  } else {
    response.fault = transfer.words[0] != '\0' ? transfer.words.data() : curl_easy_strerror(code);
  }
}

}  // namespace

Patience patience() {
  return {
      [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

// A set of connections that stay open for the next requests.
struct CurlHttp::Connections {
  std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> handle{curl_multi_init(), curl_multi_cleanup};
};

CurlHttp::CurlHttp(HttpOptions options) : options_(std::move(options)) {
  [[maybe_unused]] static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

CurlHttp::~CurlHttp() = default;

std::unique_ptr<CurlHttp::Connections> CurlHttp::take_connections() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Connections>();
  auto out = std::move(idle_.back());
  idle_.pop_back();
  return out;
}

std::vector<HttpResponse> CurlHttp::perform(std::span<const HttpRequest> requests) {
  std::vector<HttpResponse> responses(requests.size());
  auto connections = take_connections();
  CURLM* multi = connections->handle.get();
  std::deque<std::unique_ptr<Transfer>> running;
  size_t next = 0;
  auto is_ended = [this] {
    return is_stopped_ || (!options_.outlives_interrupt && was_interrupted());
  };
  while (next < requests.size() || !running.empty()) {
    while (next < requests.size() && running.size() < kAtOnce && !is_ended()) {
      auto transfer = std::make_unique<Transfer>(Transfer{requests[next], responses[next]});
      ++next;
      if (!prepare(*transfer, options_)) continue;
      curl_multi_add_handle(multi, transfer->handle.get());
      running.push_back(std::move(transfer));
    }
    int count = 0;
    curl_multi_perform(multi, &count);
    while (const CURLMsg* message = curl_multi_info_read(multi, &count)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      void* context = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
      curl_multi_remove_handle(multi, message->easy_handle);
      finish(*static_cast<Transfer*>(context), code);
      std::erase_if(running, [context](const auto& one) { return one.get() == context; });
    }
    if (is_ended()) {
      for (auto& transfer : running) curl_multi_remove_handle(multi, transfer->handle.get());
      break;
    }
    if (!running.empty()) curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
  }
  for (HttpResponse& response : responses) {
    if (is_ended() && response.status == 0 && response.fault.empty()) response.fault = "stopped";
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connections));
  return responses;
}

}  // namespace evolve::world
