// Package stage is where a world of goroutines carries out a schedule: it drives
// the faults, and follows who leads.
package stage
