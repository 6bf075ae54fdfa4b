# Servers that no Debian package has. Scripts source this file after pipelines/setup.sh. Most are built from Go modules:
# a folder here names a program and its version (go.mod), and the checksums of all its parts (go.sum).
# shellcheck shell=bash

GO_TOOLCHAIN=golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64
GO_TOOLCHAIN_SUMS="golang.org/toolchain v0.0.1-go1.25.5.linux-amd64 h1:IkknVKy/4hLMR+ZwWfP4Oqhjz2sKqNtEXz1meP8P3Nc=
golang.org/toolchain v0.0.1-go1.25.5.linux-amd64/go.mod h1:8wlg68NqwW7eMnI1aABk/C2pDYXj8mrMY4TyRfiLeS0="

# is_new_go GO: succeeds if GO can build the servers here.
is_new_go() {
  local version
  version=$("$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' go1.25 "$version" | sort -V | head -n 1)" = go1.25 ]
}

# need_go: sets GO to the machine's Go, or else to a newer Go that Debian's Go downloads as a module.
need_go() {
  local found modules folder
  for found in "$(command -v go)" /usr/local/go/bin/go; do
    if is_new_go "$found"; then GO=$found; return 0; fi
  done
  need_packages golang-go
  modules=$(/usr/bin/go env GOMODCACHE)
  GO=$modules/$GO_TOOLCHAIN/bin/go
  is_new_go "$GO" && return 0
  say "downloading ${GO_TOOLCHAIN#*-}"
  folder=$(mktemp -d)
  printf 'module evolve.test/go\ngo 1.19\nrequire %s\n' "${GO_TOOLCHAIN/@/ }" >"$folder/go.mod"
  printf '%s\n' "$GO_TOOLCHAIN_SUMS" >"$folder/go.sum"
  (cd "$folder" && GOFLAGS=-mod=mod /usr/bin/go mod download) || die "Go could not be downloaded"
  rm -rf "$folder"
  # The files of a module are not executable.
  chmod +x "$modules/$GO_TOOLCHAIN"/bin/* "$modules/$GO_TOOLCHAIN"/pkg/tool/*/*
}

# need_server NAME: makes build/servers/NAME from the program in tests/servers/NAME, or from the program that it
# imports.
need_server() {
  local source=tests/servers/$1 program=. flags=()
  cat "$source"/go.sum "$source"/*.go | cmp -s - "build/servers/$1.made-of" && return 0
  need_go
  say "building $1"
  # The folder holds a program of its own, or names the program of another module.
  [ -f "$source/main.go" ] || program=$(sed -n 's/^import _ "\(.*\)"$/\1/p' "$source/server.go")
  # The flags set the version that the programs report, because no module sets it.
  [ "$1" != kubernetes ] || flags=(-ldflags "-X k8s.io/component-base/version.gitVersion=$(
    sed -n 's/^.*k8s.io\/kubernetes \(v.*\)$/\1/p' "$source/go.mod")")
  mkdir -p build/servers
  (cd "$source" && GOTOOLCHAIN=local "$GO" build "${flags[@]}" -o "$OLDPWD/build/servers/$1" "$program") ||
    die "go could not build $1"
  cat "$source"/go.sum "$source"/*.go >"build/servers/$1.made-of"
}

# need_litellm: makes build/servers/litellm, a Python environment (a minute, 0.8 GB).
need_litellm() {
  mkdir -p build/servers
  need_environment build/servers/litellm tests/servers/litellm/requirements.lock
}
