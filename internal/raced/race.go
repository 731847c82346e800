//go:build race

package raced

// Enabled tells whether this was built with -race.
const Enabled = true
