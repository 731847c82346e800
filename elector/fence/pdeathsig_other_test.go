//go:build !linux

package fence

import "os/exec"

func dieWithUs(*exec.Cmd) {}
