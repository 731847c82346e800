// Package trial runs every elector in every scenario, in one world or in two.
//
// A [Trial] fills a table of cells: which promises were kept or broken, how long failovers
// took, and whether the worlds agree. Each elector's documented claims stand beside what was
// measured.
//
// Read first: docs/findings.md.
package trial
