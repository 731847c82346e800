//go:build !linux

package supervisor

// memoryRoot is not there: no directory lies in it.
const memoryRoot = ""

func memoryRoom() uint64 { return 0 }
