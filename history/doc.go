// Package history has the events that a run records, and the format of history.jsonl.
//
// A [Recorder] collects events while candidates run. [Load] reads a whole file, a [Reader] one
// event after the other. The first line is a [Header]: who took part, with which settings.
//
// All other packages of the harness meet here. This package knows no clock, no network and no
// elector, so a history may come from any program.
//
// Read first: docs/history-format.md.
package history
