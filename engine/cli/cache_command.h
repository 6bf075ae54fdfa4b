// `evolve cache`: what lies in a state folder, what may go, whether it is sound.
#pragma once

#include <string>

#include "engine/cli/commands.h"

namespace evolve::cli {

struct CacheCommand {
  std::string max_size;  // "20G"; empty: no limit
  std::string max_age;   // "30d"; empty: no limit
  bool dry_run = false;
  std::string digest;     // of `path`: the first digits of a blob's
  RemoteSettings remote;  // of `verify`
};

Status run_cache_stats(const CommonOptions& common);
Status run_cache_gc(const CommonOptions& common, const CacheCommand& command);
Status run_cache_verify(const CommonOptions& common, const CacheCommand& command);
Status run_cache_path(const CommonOptions& common, const CacheCommand& command);

}  // namespace evolve::cli
