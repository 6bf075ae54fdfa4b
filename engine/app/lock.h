// `evolve.lock`, next to the pipelines: the toolchain that their campaigns were built with.
//
//   # a comment for people
//   engine: 0.1.0
//   keys: evolve-key-3
//   python: 3.11.2
//   packages:
//     jax: 0.10.2
//   flags:                 # of the compiler, by campaign; campaigns without flags are left out
//     matmul-v7x: [--xla_tpu_scoped_vmem_limit_kib=16384]
#pragma once

#include "engine/app/answer.h"
#include "engine/app/campaign.h"
#include "engine/app/toolchain.h"

namespace evolve {

// Writes the lock for this machine's toolchain and for the campaign's compiler flags.
Result<Answer> write_lock(const CampaignOptions& options);

// Checks that the lock, if there is one, is for this machine's toolchain. Bad input, with all
// differences: the lock is for another toolchain.
Status check_lock(const Campaign& campaign, const Toolchain& toolchain);

}  // namespace evolve
