//go:build !linux

package fence

import "os/exec"

func dieWithUs(*exec.Cmd) {}

func notAsRoot(*exec.Cmd, ...string) error { return nil }
