//go:build !linux

package topology

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// dieWithUs does nothing: this system has no such signal.
func dieWithUs(*exec.Cmd) {}

var errNoPause = errors.New("topology: servers can be paused on Linux only, or by the process that starts them")

func suspend(context.Context, *os.Process) error { return errNoPause }

func proceed(context.Context, *os.Process) error { return errNoPause }
