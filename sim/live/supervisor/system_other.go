//go:build !linux && !darwin

package supervisor

import (
	"os/exec"
	"syscall"
)

const (
	stopSignal     = syscall.Signal(0)
	continueSignal = syscall.Signal(0)
)

func supported() error                      { return ErrUnsupported }
func ownSession() *syscall.SysProcAttr      { return nil }
func ignoreSignals()                        {}
func supervise(*exec.Cmd)                   {}
func signalGroup(int, syscall.Signal) error { return ErrUnsupported }
func killGroup(int) error                   { return ErrUnsupported }
func groupLives(int) bool                   { return false }
func awaitExit(int)                         {}
func groupStates(int) (threadStates, error) { return threadStates{}, ErrUnsupported }
