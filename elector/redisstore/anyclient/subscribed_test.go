package anyclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscription is a call of Subscribe that a test answers.
type subscription struct {
	channel   string
	confirm   func()
	message   func(string)
	lose      chan error // what the call returns
	cancelled bool
}

// station has the calls of Subscribe of a client, in the order in which they began.
type station struct {
	mu    sync.Mutex
	calls []*subscription
}

func (s *station) client() Client {
	return scripted{subscribe: func(ctx context.Context, channel string, subscribed func(), message func(string)) error {
		one := &subscription{channel: channel, confirm: subscribed, message: message, lose: make(chan error)}
		s.mu.Lock()
		s.calls = append(s.calls, one)
		s.mu.Unlock()
		select {
		case err := <-one.lose:
			return err
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			one.cancelled = true
			return ctx.Err()
		}
	}}
}

// call is the nth call.
func (s *station) call(n int) *subscription {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[n]
}

// alive are the numbers of the calls that go on.
func (s *station) alive() (list []int) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, one := range s.calls {
		if !one.cancelled {
			list = append(list, n)
		}
	}
	return list
}

// hears wants what is received next; "" is nothing within a second.
func hears(t *testing.T, sub *redis.PubSub, want ...string) {
	t.Helper()
	for _, want := range want {
		event, err := sub.ReceiveTimeout(t.Context(), time.Second)
		got := ""
		var timeout interface{ Timeout() bool }
		switch e := event.(type) {
		case *redis.Subscription:
			got = e.Kind + " " + e.Channel
		case *redis.Message:
			got = "message " + e.Channel + " " + e.Payload
		case *redis.Pong:
			got = "pong"
		default:
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				got = err.Error()
			}
		}
		if got != want {
			t.Errorf("received was %q, want %q", got, want)
		}
	}
}

// inBubble runs a test of announcements in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, s *station, sub *redis.PubSub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var s station
		sub := through(t, s.client()).Subscribe(t.Context())
		defer func() { _ = sub.Close() }()
		test(t, &s, sub)
		_ = sub.Close()
		if alive := s.alive(); len(alive) > 0 {
			t.Errorf("the subscriptions %v go on although the connection is closed", alive)
		}
	})
}

// Requests are answered in their order, however the client gets its confirmations, and
// messages reach who listens.
func TestAnswersKeepTheirOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, s *station, sub *redis.PubSub) {
		_ = sub.Subscribe(t.Context(), "a")
		s.call(0)
		_ = sub.Subscribe(t.Context(), "b")
		hears(t, sub, "")
		s.call(1).confirm()
		hears(t, sub, "")
		s.call(0).confirm()
		hears(t, sub, "subscribe a", "subscribe b", "")
		s.call(1).message("two words\r\n")
		s.call(0).message("")
		hears(t, sub, "message b two words\r\n", "message a ", "")
		_ = sub.Unsubscribe(t.Context(), "a")
		hears(t, sub, "unsubscribe a")
		s.call(0).message("late")
		hears(t, sub, "")
		if got := fmt.Sprint(s.alive()); got != "[1]" {
			t.Errorf("alive are %s, want [1]", got)
		}
	})
}

// Who subscribes again wants to know that the subscription lives, so it is a new one. The one
// before goes on until that is confirmed, and no message is lost.
func TestSubscribedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *station, sub *redis.PubSub) {
		_ = sub.Subscribe(t.Context(), "a")
		s.call(0).confirm()
		hears(t, sub, "subscribe a")
		_ = sub.Subscribe(t.Context(), "a")
		s.call(1)
		s.call(0).message("between")
		hears(t, sub, "message a between", "")
		s.call(1).confirm()
		hears(t, sub, "subscribe a")
		s.call(0).message("late")
		s.call(1).message("now")
		hears(t, sub, "message a now", "")
		if got := fmt.Sprint(s.alive()); got != "[1]" {
			t.Errorf("alive are %s, want [1]", got)
		}
	})
}

// A subscription that is given up before it is there has its answers all the same.
func TestUnsubscribedBefore(t *testing.T) {
	inBubble(t, func(t *testing.T, s *station, sub *redis.PubSub) {
		_ = sub.Subscribe(t.Context(), "a")
		s.call(0)
		_ = sub.Unsubscribe(t.Context(), "a")
		hears(t, sub, "subscribe a", "unsubscribe a")
		s.call(0).confirm()
		hears(t, sub, "")
	})
}

// A ping asks every subscription whether it lives.
func TestPing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *station, sub *redis.PubSub) {
		for n, channel := range []string{"a", "b"} {
			_ = sub.Subscribe(t.Context(), channel)
			s.call(n).confirm()
		}
		hears(t, sub, "subscribe a", "subscribe b")
		_ = sub.Ping(t.Context())
		s.call(3).confirm()
		hears(t, sub, "")
		s.call(2).confirm()
		hears(t, sub, "pong", "")
		if got := fmt.Sprint(s.alive()); got != "[2 3]" {
			t.Errorf("alive are %s, want [2 3]", got)
		}
	})
}

// What the server refuses is its answer to that request, and leaves the others as they are.
func TestRefusedSubscription(t *testing.T) {
	inBubble(t, func(t *testing.T, s *station, sub *redis.PubSub) {
		_ = sub.Subscribe(t.Context(), "a")
		s.call(0).confirm()
		hears(t, sub, "subscribe a")
		for n, channel := range []string{"b", "a"} {
			_ = sub.Subscribe(t.Context(), channel)
			s.call(n + 1).lose <- fmt.Errorf("refused: %w", Error("NOPERM no channel"))
			_, err := sub.ReceiveTimeout(t.Context(), time.Second)
			if reply := redis.Error(nil); !errors.As(err, &reply) || err.Error() != "NOPERM no channel" {
				t.Errorf("subscribe to %s: %v, want the server's answer", channel, err)
			}
		}
		s.call(0).message("still")
		hears(t, sub, "message a still")
		s.call(1).cancelled, s.call(2).cancelled = true, true // they have returned
	})
}

// A subscription that is lost ends the connection, with all others, and is no answer of the
// server: the listener must know that it has missed something.
func TestLostSubscription(t *testing.T) {
	for _, reason := range []error{errors.New("reset"), timedOut{}, Error("ERR no"), nil} {
		inBubble(t, func(t *testing.T, s *station, sub *redis.PubSub) {
			for n, channel := range []string{"a", "b"} {
				_ = sub.Subscribe(t.Context(), channel)
				s.call(n).confirm()
			}
			hears(t, sub, "subscribe a", "subscribe b")
			s.call(0).lose <- reason
			done, cancel := context.WithCancel(t.Context())
			cancel() // else go-redis would connect again
			_, err := sub.ReceiveTimeout(done, time.Second)
			var reply redis.Error
			var timeout interface{ Timeout() bool }
			if err == nil || errors.As(err, &reply) || errors.As(err, &timeout) {
				t.Errorf("after %v: %v, want a broken connection", reason, err)
			}
			s.call(0).cancelled = true // it has returned
			if alive := s.alive(); len(alive) > 0 {
				t.Errorf("the subscriptions %v go on", alive)
			}
		})
	}
}
