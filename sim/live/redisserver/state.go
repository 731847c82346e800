package redisserver

import (
	"fmt"
	"sync"
)

// state of a private server.
type state string

const (
	running state = "running"
	paused  state = "paused"
	crashed state = "crashed"
	closed  state = "closed"
)

// lifecycle allows only what makes sense: to resume what is paused, to restart
// what has crashed. Anything else is an error of the schedule.
type lifecycle struct {
	mu    sync.Mutex
	state state
}

// change calls act if the state is one of from, and on success sets it to to.
func (l *lifecycle) change(to state, act func(was state) error, from ...state) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, allowed := range from {
		if l.state != allowed {
			continue
		}
		if err := act(l.state); err != nil {
			return err
		}
		l.state = to
		return nil
	}
	return fmt.Errorf("redisserver: the Redis is %s and cannot become %s", l.state, to)
}

// close calls act once, whatever the state was.
func (l *lifecycle) close(act func(was state) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == closed {
		return nil
	}
	was := l.state
	l.state = closed
	return act(was)
}
