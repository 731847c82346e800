// Package candidate is the harness's own candidate: the production elector in
// a process, speaking the candidate protocol like anybody else's.
package candidate
