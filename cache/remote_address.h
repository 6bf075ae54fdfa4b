// Addresses of results, records and files on a web server, and the requests for them.
#pragma once

#include <string>
#include <string_view>

#include "engine/core/digest.h"
#include "engine/core/http.h"
#include "engine/core/result.h"

namespace evolve::cache {

class RemoteAddress {
 public:
  // Reads an address: "http://host:8080/cache" is a server of Bazel's HTTP protocol, and
  // "gs://bucket/prefix" is a bucket of Google Cloud Storage, or of another server at
  // `gcs_endpoint` that has the same JSON API. Bad input: any other text, and an address with a
  // password, because addresses are printed and recorded.
  static Result<RemoteAddress> parse(
      std::string text, std::string_view gcs_endpoint = "https://storage.googleapis.com");

  // The address as it was written, without a slash at the end.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_bucket() const { return !bucket_.empty(); }

  // Names of places on the server.
  static std::string entry(const Digest& key);
  static std::string record(const std::string& name) { return "ac/" + name; }
  static std::string file(const std::string& sha256) { return "cas/" + sha256; }

  // Requests that check whether a place has content (status 200), get its content, or put a body or
  // a file there.
  [[nodiscard]] HttpRequest look(const std::string& place) const;
  [[nodiscard]] HttpRequest get(const std::string& place, int64_t most_bytes,
                                std::string into = "") const;
  [[nodiscard]] HttpRequest put(const std::string& place, std::string body) const;
  [[nodiscard]] HttpRequest put_file(const std::string& place, std::string path) const;

 private:
  [[nodiscard]] HttpRequest put_there(const std::string& place) const;
  // Returns the name of a bucket's object for a place, encoded for a path or query.
  [[nodiscard]] std::string object(const std::string& place) const;

  std::string text_;
  std::string endpoint_, bucket_, prefix_;  // set only for a bucket
};

}  // namespace evolve::cache
