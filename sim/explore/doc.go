// Package explore visits every schedule of a small world: some candidates, each
// the production elector's internal/machine, one store, and every order in which
// messages may arrive, be lost or be repeated, clocks tick, and processes crash
// and return. States that differ in nothing that matters are visited once, so a
// search comes to the end of a world and has seen all of it, or of it all up to a
// depth: no schedule is drawn, and none left out.
//
// In worlds of several stores the candidates are internal/quorum's machines, which
// acquire, renew and give back what a majority of the stores holds.
//
// In worlds of several elections the scripts of elector/redisstore decide: candidates
// that know nothing call them on the model of Redis, while keys vanish.
//
// A World is described by Settings; Search walks it and returns a Report. Times
// are whole ticks. What is searched is these durations and this store, in which a
// request takes effect at one moment: not Lua, not Redis, and not the shell around
// the machine.
package explore
