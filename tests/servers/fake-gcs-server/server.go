//go:build server

// Package server names the program that `go build` is to make, with its version in go.mod.
package server

import _ "github.com/fsouza/fake-gcs-server"
