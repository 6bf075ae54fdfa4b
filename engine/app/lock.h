// `evolve.lock`, beside the pipelines: the toolchain that their campaigns were built with.
//
//   # words
//   engine: 0.1.0
//   keys: evolve-key-3
//   python: 3.11.2
//   packages:
//     jax: 0.10.2
//   flags:                 # of the compiler, by campaign; those without are not listed
//     matmul-v7x: [--xla_tpu_scoped_vmem_limit_kib=16384]
#pragma once

#include "engine/app/answer.h"
#include "engine/app/campaign.h"
#include "engine/app/toolchain.h"

namespace evolve {

// Writes the lock for this machine's toolchain, and for the campaign.
Result<Answer> write_lock(const CampaignOptions& options);

// Success where there is no lock. Bad input, naming all that differs, where the lock is of another
// toolchain than this machine's.
Status check_lock(const Campaign& campaign, const Toolchain& toolchain);

}  // namespace evolve
