// A memo that asks a remote cache for what is not known here, and gives it what is found out.
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
  // All must outlive this. The ledger is asked before the remote cache, and
  // flushed: others may wait for it. `uploads` null: what is
  // found out here stays here.
  SharedMemo(Memo& own, Ledger& ledger, BlobStore& blobs, RemoteCache& remote, Uploads* uploads)
      : own_(own), ledger_(ledger), blobs_(blobs), remote_(remote), uploads_(uploads) {}

  Result<std::optional<ActionResult>> find(const Digest& key) override;
  Result<std::vector<std::string>> discovered(const Digest& declared_key) override;
  Status put(const ActionResult& result) override;
  Result<int64_t> version() override { return own_.version(); }
  Status foresee(std::span<const Digest> keys) override;

 private:
  // What is known here and can be restored; a result that lost a blob is as good as none.
  Result<std::optional<ActionResult>> find_here(const Digest& key);
  // What is stored of a result is stored under its declared key, too: one that came from elsewhere
  // must not be stored under another than the one that was asked for.
  [[nodiscard]] bool is_answer(const ActionResult& result) const;

  Memo& own_;
  Ledger& ledger_;
  BlobStore& blobs_;
  RemoteCache& remote_;
  Uploads* uploads_;
  std::unordered_map<Digest, std::vector<std::string>> discovered_;  // what was answered
};

}  // namespace evolve::cache
