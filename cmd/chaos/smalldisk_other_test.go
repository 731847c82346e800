//go:build !linux

package main

import "testing"

// smallDisk wants a disk that is a part of memory.
func smallDisk(t *testing.T) string {
	t.Skip("a small disk can be made on Linux only")
	return ""
}
