// Package reports writes what a run has shown: report.json and JUnit XML for programs, HTML,
// Markdown and a summary in the terminal for people.
//
// A report is built as a value of package document first. One printer for each format prints
// it, so all formats say the same. The same history and result give the same bytes.
//
// The package decides nothing: verdicts come from package checker. Passwords in addresses are
// replaced before anything is written.
//
// Read first: docs/reading-a-report.md.
package reports
