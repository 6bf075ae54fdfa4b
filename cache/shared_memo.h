// A memo that asks a remote cache for results that are not known here, and gives it new ones.
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
  // All arguments must outlive this. The ledger is asked before the remote cache. It is flushed
  // before the remote cache is asked, because others may wait for it. `uploads` null: new results
  // stay here.
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
  // Whether a result from elsewhere answers what was asked for. A result is also stored under its
  // declared key, so that key, too, must be one that was asked for.
  [[nodiscard]] bool is_answer(const ActionResult& result) const;

  Memo& own_;
  Ledger& ledger_;
  BlobStore& blobs_;
  RemoteCache& remote_;
  Uploads* uploads_;
  std::unordered_map<Digest, std::vector<std::string>> discovered_;  // the answers of discovered()
};

}  // namespace evolve::cache
