#!/usr/bin/env bash
# Command 2 of the README: it installs what is missing, builds, and runs the tests.
#   tests/run.sh                 every tier that needs no long campaign (under five minutes, warm)
#   tests/run.sh TIER…           unit contract property fault golden steps cluster llm
#   THOROUGH=1 tests/run.sh      also the tests that only CI has the time for
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source pipelines/setup.sh
source tests/servers/servers.sh

mkdir -p build
need_packages "${EVOLVE_BUILD_PACKAGES[@]}" "${EVOLVE_TEST_PACKAGES[@]}"
need_python rules/requirements.lock rules/requirements-dev.lock
need_build build/release release tests

tiers=("$@")
[ ${#tiers[@]} -gt 0 ] || tiers=(unit contract property fault golden steps ${THOROUGH:+cluster llm})
# Servers are compiled or installed only once, because a control plane takes ten minutes.
for tier in "${tiers[@]}"; do
  case $tier in
    fault) for server in ${THOROUGH:+bazel-remote fake-gcs-server}; do need_server "$server"; done ;;
    cluster) need_server fake-gcs-server; need_server kubernetes ;;
    llm) need_litellm ;;
  esac
done
pattern=$(IFS='|'; echo "${tiers[*]}")
say "running the tiers: ${tiers[*]}"
(cd build/release && ctest ${THOROUGH:+-C thorough} --output-on-failure --no-tests=error --timeout 2700 -j "$(nproc)" -L "^($pattern)\$") || {
  # Repeats the failures at the end, because a tier also prints much other text.
  say "what the scripts said of it"
  grep -E 'FAILED: |^evolve: error: |^(FAILED|ERROR) tests/' build/release/Testing/Temporary/LastTest.log | tail -n 40
  exit 1
}

cat <<'TEXT'

What to try next:
  tests/run.sh unit            one tier
  pipelines/quickstart.sh      a campaign from end to end
TEXT
