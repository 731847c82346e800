//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fencefile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func flock(*os.File) (bool, error) {
	return false, fmt.Errorf("fence.File needs flock, which %s does not have: use another guard: %w", runtime.GOOS, errors.ErrUnsupported)
}
