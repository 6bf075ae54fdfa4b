#!/usr/bin/env bash
# A check that the model can follow JAX's own kernels as each version of libtpu compiles them. pip fetches each version,
# some 500 MB, into FOLDER, and a later run uses the same copy.
#   tests/compilers.sh FOLDER [VERSION…]     VERSION: by default, all that pip offers from 0.0.42 on
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mkdir -p "$1" && cd "$1" && pwd)
versions=("${@:2}")
[ ${#versions[@]} -gt 0 ] ||
  mapfile -t versions < <(.venv/bin/python -m pip index versions libtpu 2>/dev/null | sed -n 's/^Available versions: //p' |
    tr -d ' ' | tr ',' '\n' | awk -F. '$3 >= 42' | sort -V)
[ ${#versions[@]} -gt 0 ] || { echo "pip offers no libtpu" >&2; exit 1; }
failed=()
for version in "${versions[@]}"; do
  library=$folder/libtpu-$version/libtpu/libtpu.so
  [ -e "$library" ] || .venv/bin/python -m pip install -q --no-deps --target "$folder/libtpu-$version" "libtpu==$version"
  echo "==> libtpu $version"
  TPU_LIBRARY_PATH=$library .venv/bin/python -m pytest -q -p no:cacheprovider tests/steps/test_published.py ||
    failed+=("$version")
done
[ ${#failed[@]} -eq 0 ] || { echo "not followed: libtpu ${failed[*]}" >&2; exit 1; }
