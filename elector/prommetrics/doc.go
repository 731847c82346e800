// Package prommetrics tells Prometheus about electors: who leads, for how long
// the term lasts yet, why terms ended, and how the store answers.
//
// # What is guaranteed
//
// Collect answers from memory: it asks neither the store nor the elector's
// goroutine, and waits for nothing that can hang. recount_elector_is_leader is
// Elector.IsLeader at the moment of the scrape, by the clock. Counters exist with
// 0 from the moment in which an elector is made, so that increase() sees the
// first event.
//
// # What is not guaranteed
//
// A scrape is old when it is read: the sum of is_leader over all processes may
// be 2 for one scrape although nobody led together, because they are scraped at
// different times. Alert on it with a "for" of more than one scrape interval.
// Counters of events stand still while OnEvent or OnLeader hangs, and
// recount_elector_callback_running_seconds says so. Gauges, and the counters of
// the store's requests, do not depend on that.
//
// # Labels
//
// Each series of an elector has the label election, and with Options.IDLabel
// also id, the configured part of the candidate's ID: the whole one is different
// after each restart, and every restart would leave series behind. Several
// electors with the same labels are added up. Histograms have neither: how fast
// a store answers and how late a process wakes up is not a matter of the
// election, and a thousand elections would be a thousand histograms.
package prommetrics
