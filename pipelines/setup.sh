# Functions that install and build what the two commands of the README need. quickstart.sh, tests/run.sh
# and .ci/run source this file. If its work is done already, a function returns in well under a second.
# shellcheck shell=bash

# shellcheck disable=SC2034
EVOLVE_BUILD_PACKAGES=(
  ca-certificates cmake g++ libarchive-dev libcli11-dev libcpp-httplib-dev libcurl4-openssl-dev libfmt-dev libmuparser-dev
  libprotozero-dev libseccomp2 libsimdjson-dev libsqlite3-dev libssl-dev libxxhash-dev libyaml-cpp-dev ninja-build nlohmann-json3-dev pkg-config python3 python3-venv
)
# shellcheck disable=SC2034
EVOLVE_TEST_PACKAGES=(bubblewrap catch2 ccache curl etcd-server faketime fish gfortran git nginx-light openssl procps strace zsh zstd)

say() { printf '==> %s\n' "$*"; }
die() {
  printf 'evolve: error: %s\n' "$*" >&2
  exit 3
}

# need_packages NAME…: installs Debian packages. If the user may not install packages, it lists the missing ones.
need_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || die "these Debian packages are missing, and this user may not install them: ${missing[*]}
hint: sudo apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq || die "apt-get update failed"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || die "apt-get could not install: ${missing[*]}"
}

# need_python LOCK…: makes the Python environment .venv with the packages of the lock files, and checks their hashes.
need_python() { need_environment .venv "$@"; }

# need_environment FOLDER LOCK…: makes a Python environment in FOLDER, as need_python does in .venv.
need_environment() {
  local folder=$1 lock
  for lock in "${@:2}"; do
    local stamp="$folder/.installed-${lock##*/}"
    cmp -s "$lock" "$stamp" && continue
    if [ ! -x "$folder/bin/python" ]; then
      local python=python3
      [ -x /usr/bin/python3.11 ] && python=/usr/bin/python3.11
      say "making the Python environment $folder"
      "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
        die "$("$python" --version) is there; the lock files are for Python 3.11 (Debian 12's)"
      "$python" -m venv "$folder" || die "python3 -m venv failed"
    fi
    say "installing the Python packages of $lock"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$lock" ||
      die "pip could not install $lock"
    cp "$lock" "$stamp"
  done
}

# first_pipeline: prints the pipeline of the README's campaign, or another one if the campaign's kernel was deleted.
first_pipeline() {
  local file name
  for file in pipelines/matmul-v7x.yaml pipelines/*-v7x.yaml; do
    name=$(basename "$file" -v7x.yaml)
    if [ -e "$file" ] && [ -e "kernels/$name/spec.yaml" ]; then
      printf '%s\n' "$file"
      return
    fi
  done
  die "no pipeline has a kernel here"
}

# need_build FOLDER PRESET [tests] [TARGET…]: configures FOLDER, and builds all or only the targets. PRESET is a file of
# tests/presets. The tests need more packages, so they are part of the build only once `tests` was given.
need_build() {
  local folder=$1 preset=$2 tests=OFF launcher=
  # With these settings, ccache also finds the objects that another clone has compiled from the same files.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  command -v ccache >/dev/null && launcher=ccache
  [ "${3:-}" = tests ] && tests=ON
  if [ ! -f "$folder/build.ninja" ] ||
    { [ "$tests" = ON ] && ! grep -q '^EVOLVE_TESTS:BOOL=ON$' "$folder/CMakeCache.txt"; }; then
    say "configuring $folder"
    cmake -S . -B "$folder" -G Ninja -C "tests/presets/$preset.cmake" "-DEVOLVE_TESTS=$tests" \
      "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" >"$folder.log" 2>&1 || {
      cat "$folder.log" >&2
      die "cmake could not configure $folder"
    }
  fi
  # Asks first, so that a build with nothing to do prints no line.
  if ninja -C "$folder" -n "${@:4}" 2>/dev/null | grep -q 'no work to do'; then return 0; fi
  say "building $folder"
  ninja -C "$folder" --quiet "${@:4}" || die "the build of $folder failed"
}
