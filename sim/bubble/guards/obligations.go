package guards

import "github.com/recount-io/recount/sim/space"

// Obligations are what the documents of the guards say. Every case is held to them.
var Obligations = space.Obligations{
	inOrder:    "a guard never admits a token smaller than one that it has admitted before",
	oneStep:    "the look at the token and the write are one step: no larger token is admitted before the write has ended",
	refusals:   "a StaleError has the write's token, and the largest that the guard has seen, which is larger",
	noTrace:    "what is refused, or was certainly not done, has no effect",
	once:       "what is accepted has its effect when the call returns, and nothing has it twice",
	results:    "Expire says whether the key is there",
	ownErrors:  "the write's error is returned",
	answered:   "a token that is the largest on a sound resource is admitted, and whatever else fails says why",
	inTime:     "who waits stops waiting when its context's time is over",
	beside:     "writes of the same token go on beside one another",
	largest:    "Highest is the largest token that was admitted",
	needsToken: "a write without a token is refused with ErrNoToken",
	statuses:   "a request without a token gets 428, one with two or with another text 400, and one that has another term's is not sent",
	notSent:    "no request is sent when its term is over",
	handedOn:   "only what the guard admits reaches the handler, where TokenFrom is its token",
	recovers:   "whatever has happened, what the last leader writes is accepted afterwards",
}

// The names of the obligations.
const (
	inOrder    = "in order"
	oneStep    = "one step"
	refusals   = "refusals"
	noTrace    = "no trace"
	once       = "once"
	results    = "results"
	ownErrors  = "own errors"
	answered   = "answered"
	inTime     = "in time"
	beside     = "beside"
	largest    = "highest"
	needsToken = "needs token"
	statuses   = "statuses"
	notSent    = "not sent"
	handedOn   = "handed on"
	recovers   = "recovers"
)
