#include "cache/remote_address.h"

#include <fmt/format.h>

#include <utility>

#include "cache/remote_entry.h"

namespace evolve::cache {

namespace {

constexpr std::string_view kBucket = "gs://";
// Limit for a bucket's answer about the size of an object, in bytes.
constexpr int64_t kMostMetadata = 4096;

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
  std::string out;
  for (char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

Result<RemoteAddress> RemoteAddress::parse(std::string text, std::string_view gcs_endpoint) {
  while (text.ends_with('/')) text.pop_back();
  RemoteAddress out;
  const size_t host = text.find("://") + 3;
  const std::string_view after = std::string_view(text).substr(std::min(host, text.size()));
  const size_t slash = std::min(after.find('/'), after.size());
  const bool is_web = text.starts_with("http://") || text.starts_with("https://");
  if ((!is_web && !text.starts_with(kBucket)) || slash == 0) {
    return bad_input(fmt::format("{}: not a valid address", text), "",
                     "use an address such as http://host:8080/cache, or gs://bucket/prefix");
  }
  if (after.substr(0, slash).find('@') != std::string_view::npos) {
    return bad_input("the address must not contain a password", "",
                     "set EVOLVE_REMOTE_CACHE_USER=name:password");
  }
  if (!is_web) {
    out.endpoint_ = gcs_endpoint;
    out.bucket_ = after.substr(0, slash);
    out.prefix_ = slash == after.size() ? "" : std::string(after.substr(slash + 1)) + "/";
  }
  out.text_ = std::move(text);
  return out;
}

std::string RemoteAddress::entry(const Digest& key) {
  return record(entry_name(key));
}

std::string RemoteAddress::object(const std::string& place) const {
  return percent_encoded(prefix_ + place);
}

HttpRequest RemoteAddress::look(const std::string& place) const {
  HttpRequest out;
  if (is_bucket()) {
    out.url = fmt::format("{}/storage/v1/b/{}/o/{}?fields=size", endpoint_, bucket_, object(place));
    out.most_bytes = kMostMetadata;
  } else {
    out.method = HttpRequest::Method::head;
    out.url = fmt::format("{}/{}", text_, place);
  }
  return out;
}

HttpRequest RemoteAddress::get(const std::string& place, int64_t most_bytes,
                               std::string into) const {
  HttpRequest out;
  out.url = is_bucket() ? fmt::format("{}/storage/v1/b/{}/o/{}?alt=media", endpoint_, bucket_,
                                      object(place))
                        : fmt::format("{}/{}", text_, place);
  out.most_bytes = most_bytes;
  out.file = std::move(into);
  return out;
}

HttpRequest RemoteAddress::put_there(const std::string& place) const {
  HttpRequest out;
  if (is_bucket()) {
    out.method = HttpRequest::Method::post;
    out.url = fmt::format("{}/upload/storage/v1/b/{}/o?uploadType=media&fields=size&name={}",
                          endpoint_, bucket_, object(place));
    out.headers = {"Content-Type: application/octet-stream"};
  } else {
    out.method = HttpRequest::Method::put;
    out.url = fmt::format("{}/{}", text_, place);
  }
  return out;
}

HttpRequest RemoteAddress::put(const std::string& place, std::string body) const {
  HttpRequest out = put_there(place);
  out.body = std::move(body);
  return out;
}

HttpRequest RemoteAddress::put_file(const std::string& place, std::string path) const {
  HttpRequest out = put_there(place);
  out.file = std::move(path);
  return out;
}

}  // namespace evolve::cache
