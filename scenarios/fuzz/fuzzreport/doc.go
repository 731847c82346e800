// Package fuzzreport shows what a fuzz run found: as text for a terminal, and
// as a page that needs nothing from elsewhere.
package fuzzreport
