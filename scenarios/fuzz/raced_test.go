//go:build race

package fuzz_test

// raced tells whether the race detector watches: what takes half a minute
// without it takes ten with it.
const raced = true
