//go:build !linux

package fencefile

import "os/exec"

func dieWithUs(*exec.Cmd) {}
