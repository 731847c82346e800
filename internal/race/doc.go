// Package race tells tests whether the race detector watches them. What runs
// on one goroutine alone shows it nothing, and takes up to ten times as long
// under it: a test of many thousand cases of that kind takes few of them then,
// or none. The rest is run without it.
package race
