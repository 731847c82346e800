//go:build !linux

package supervisor

// killMarked finds no process: the system does not tell their environments.
func killMarked(string) (found int) { return 0 }
