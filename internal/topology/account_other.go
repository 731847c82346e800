//go:build !unix

package topology

import "os/exec"

func notAsRoot(*exec.Cmd) error { return nil }
