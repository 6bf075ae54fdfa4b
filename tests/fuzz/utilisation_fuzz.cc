// A fuzz test of the readers of libtpu's table of units, profile of bundles, and fingerprints.
#include <cstdint>
#include <cstdlib>

#include "engine/ir/readers/bundle_profile.h"
#include "engine/ir/readers/fingerprints.h"
#include "engine/ir/readers/utilisation.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto table = ir::read_utilisation(text, "x");
  if (!table && !table.error().message.starts_with("x:")) std::abort();
  if (table && (table->units.empty() || table->line != 5)) std::abort();
  auto profile = ir::read_bundle_profile(text, "x");
  if (!profile && !profile.error().message.starts_with("x:")) std::abort();
  for (const ir::InstructionProfile& one :
       profile ? *profile : std::vector<ir::InstructionProfile>())
    if (one.instruction.empty()) std::abort();
  auto fingerprints = ir::read_fingerprints(text, "x");
  if (!fingerprints && !fingerprints.error().message.starts_with("x:")) std::abort();
  for (const ir::Fingerprint& one : fingerprints ? *fingerprints : std::vector<ir::Fingerprint>())
    if (one.module.empty() || one.text.empty()) std::abort();
  return 0;
}
