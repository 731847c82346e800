package elector

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// bootTime reads the interrupt time, which goes on during sleep, unlike the
// "unbiased" one. The precise reading is needed: the tick count is up to 16 ms
// old, and a term would last so much too long.
func bootTime() time.Duration {
	var hundredNanoseconds uint64
	_, _, _ = queryInterruptTime.Call(uintptr(unsafe.Pointer(&hundredNanoseconds))) // returns nothing
	return time.Duration(hundredNanoseconds) * 100
}

var queryInterruptTime = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")
