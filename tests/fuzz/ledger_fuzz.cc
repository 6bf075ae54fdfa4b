// A fuzz test of the readers of databases' content: action results of the memo and the ledger, and
// records of rounds. A value that was read is the same after it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cache/action_table.h"
#include "engine/core/record.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Digest key = digest_of(text);
  if (auto result = cache::decode_result(key, text)) {
    auto again = cache::decode_result(key, cache::encode_result(*result));
    if (!again || again->outputs != result->outputs || again->parts != result->parts) std::abort();
  }
  if (auto record = decode_record(text)) {
    auto again = decode_record(encode(*record));
    if (!again || *again != *record || first_parting(*record, *again)) std::abort();
    for (const RecordedFile& file : files_of(*record)) {
      if (file.path.starts_with('/')) std::abort();
    }
    Record sum = *record;
    add_to(sum, *again);
  }
  return 0;
}
