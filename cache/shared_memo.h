// A memo that gets results that are not known here from a remote cache, and uploads new results.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "cache/remote.h"
#include "cache/uploads.h"
#include "engine/core/ports.h"

namespace evolve::cache {

class SharedMemo : public Memo {
 public:
  // All arguments must outlive this. A result is looked up in `own`, in the ledger, and then in the
  // remote cache. The ledger is flushed before each request to the remote cache, because other
  // processes may wait for the ledger. `uploads`: null keeps new results here.
  SharedMemo(Memo& own, Ledger& ledger, BlobStore& blobs, RemoteCache& remote, Uploads* uploads)
      : own_(own), ledger_(ledger), blobs_(blobs), remote_(remote), uploads_(uploads) {}

  Result<std::optional<ActionResult>> find(const Digest& key) override;
  Result<std::vector<std::string>> discovered(const Digest& declared_key) override;
  Status put(const ActionResult& result) override;
  Result<int64_t> version() override { return own_.version(); }
  Status foresee(std::span<const Digest> keys) override;

 private:
  // Returns a result that is known here and can be restored. A result that lost a blob counts as
  // missing.
  Result<std::optional<ActionResult>> find_here(const Digest& key);
  // Returns whether a result from elsewhere answers a request. Its discovered inputs are stored
  // under its declared key, so they must be those that discovered() returned for that key.
  [[nodiscard]] bool is_answer(const ActionResult& result) const;

  Memo& own_;
  Ledger& ledger_;
  BlobStore& blobs_;
  RemoteCache& remote_;
  Uploads* uploads_;
  std::unordered_map<Digest, std::vector<std::string>> discovered_;  // the answers of discovered()
};

}  // namespace evolve::cache
