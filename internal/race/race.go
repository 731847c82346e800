//go:build race

package race

// Enabled reports whether this was built with -race.
const Enabled = true
