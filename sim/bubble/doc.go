// Package bubble is the third world: the elector that ships, with its Redis
// store, its Redis client and its scripts, unmodified, in a bubble of fake time
// (testing/synctest), on connections in memory that faults cut, delay and break.
//
// It takes the same plans as the live and the virtual world, and records the same
// history. What is real in it is the code that ships: package elector with its
// goroutines and timers, redisstore, go-redis, the text of the scripts. What is
// modelled is what lies around: the network (package network), the server
// (package redisserver, whose data and commands are those of redismodel), the
// candidates' clocks, and the protected resource.
//
// A bubble belongs to a test, so this world lives in go test: its Run must be
// called inside synctest.Test.
//
// A process is what stands still, dies and starts again in plans; here it is a set
// of goroutines, which nobody can stop. So a candidate that stands still is one
// whose clock cannot be read, whose timers fire and whose requests, answers, hints
// and writes pass only when it goes on; and one that was killed is one whose
// connections are closed, which can open none, and of which nothing is recorded
// any more. What goroutines do between two such points takes no time, here as
// there. [Refuses] says which plans cannot be.
package bubble
