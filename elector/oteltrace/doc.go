// Package oteltrace tells OpenTelemetry about electors: a span for each term,
// one for each request to the store, and metrics.
//
// # Spans
//
// "elector.term" lasts from the election to the end of the term, with the
// attributes recount.election, recount.candidate, recount.token and, at its end,
// recount.reason. Its status is an error if the term was lost. What happened in
// it are its events: renewals that were sent late, troubles, the beginning of
// the drain, a store that fell silent. It is a trace of its own, and reaches the
// exporter when the term ends, which may be in weeks: metrics tell of the present.
//
// "elector.acquire", "elector.renew", "elector.release" and "elector.leader" are
// the requests, with their outcome. Those of a term link to its span. A lease that
// somebody else holds is an answer and no error.
//
// # What is guaranteed
//
// An elector that is traced decides as without. Exporters that block hinder
// nothing but themselves as long as the provider's processor is one that does
// not block (the SDK's batch processor): spans of requests begin and end on the
// goroutines that make the requests.
package oteltrace
