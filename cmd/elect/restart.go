package main

import (
	"fmt"
	"time"
)

// policy says what happens when a job ends by itself while its candidate
// leads: it is started again, or the candidacy ends with the job's status.
type policy string

const (
	never     policy = "never"
	onFailure policy = "on-failure"
	always    policy = "always"
)

func policyOf(text string) (policy, error) {
	switch p := policy(text); p {
	case never, onFailure, always:
		return p, nil
	}
	return "", fmt.Errorf("--restart is %q; it must be never (elect ends with the job's status), on-failure or always", text)
}

func (p policy) again(s exitState) bool {
	return p == always || p == onFailure && s.status != statusDone
}

// The pauses before a job is started again: each is twice the last one, and
// they begin anew after a job that ran for a while.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// backOff is the pauses of one term.
type backOff struct{ last time.Duration }

// next is the pause after a job that ran for so long.
func (b *backOff) next(ran time.Duration) time.Duration {
	if ran >= longPause {
		b.last = 0
	}
	b.last = min(max(2*b.last, firstPause), longPause)
	return b.last
}
