//go:build !linux && !darwin

package chaostest

import "os"

// takeOutput returns standard output. Nothing is spoken on it here: the live world does
// not run on this system.
func takeOutput() (*os.File, error) { return os.Stdout, nil }
