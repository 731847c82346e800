// Package topologies draws what happens to stores of several servers, and carries it out:
// a primary with replicas, which lag, are promoted, demoted, cut off and brought back
// in any order, and two to seven servers that know nothing of each other.
//
// A case is drawn from one number. It is a plan for the bubble, so the elector that
// ships meets it in fake time; or, with real servers in place of the models, in real
// time. The history is judged as any other, by what is promised for that topology.
package topologies
