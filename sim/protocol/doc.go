// Package protocol is the candidate protocol: how the harness and a candidate,
// an elector in any language, talk to each other. Environment variables tell a
// candidate what to do, lines of JSON on its standard output tell what it did,
// and lines of JSON on its standard input steer it, if it cares to read them.
//
// docs/candidate-protocol.md states it for people who write candidates.
package protocol
