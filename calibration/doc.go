// Package calibration compares what two worlds recorded of one scenario: the
// simulated ones are held against the real one and against each other, so that
// they need not be trusted.
//
// It compares three things. The verdicts, and the promises that are broken,
// must be the same. The failovers' durations, and the spans without a leader, are
// two samples each, whose distance is
// that of Kolmogorov and Smirnov, and the area between their curves. The events
// around the failovers are sequences, whose distance is the total variation of
// the frequencies with which one kind of event follows another, for each cause
// of failovers. What chance does to samples of this size is found by drawing:
// see Compare.
package calibration
