package candidate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

const sec = time.Second

// rig is a host whose real clock a test moves by hand, in a run that began at
// epoch, and what it prints.
type rig struct {
	*Host
	real    *hand
	printed bytes.Buffer
}

const epoch = 100 * sec

func newRig() *rig {
	r := &rig{real: &hand{now: epoch}}
	r.Host = &Host{
		Settings: Settings{Node: "n1", Election: "e1", Epoch: epoch},
		Clock:    NewClock(r.real.time, 1),
		out:      &output{w: &r.printed, now: func() time.Duration { return r.real.now - epoch }},
	}
	return r
}

// lines are what was printed since the last call, parsed, in short.
func (r *rig) lines(t *testing.T) []string {
	t.Helper()
	var list []string
	for text := range strings.Lines(r.printed.String()) {
		l, ok := protocol.Parse([]byte(text))
		if !ok || !strings.HasSuffix(text, "\n") {
			t.Errorf("%q is no line of the protocol", text)
		}
		if l.Name == protocol.EventClock {
			list = append(list, fmt.Sprintf("clock %g %d", l.Rate, l.OffsetMS))
			continue
		}
		entry := fmt.Sprintf("%v %s %s", *l.At, l.Node, l.Name)
		if l.Op != 0 {
			entry += fmt.Sprintf(" op%d %s %s/%d ttl %v", l.Op, l.Call, l.Nonce, l.Try, l.TTL)
		}
		if l.Token != 0 {
			entry += fmt.Sprintf(" t%d", l.Token)
		}
		if l.Until != nil {
			entry += fmt.Sprintf(" until %v", *l.Until)
		}
		for _, words := range []string{l.Holder, string(l.Why), l.Error} {
			if words != "" {
				entry += " " + words
			}
		}
		list = append(list, entry)
	}
	r.printed.Reset()
	return list
}

func (r *rig) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := r.lines(t); !slices.Equal(got, want) {
		t.Errorf("printed\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Beliefs are printed on the run's clock, whatever the candidate's clock
// shows: one that runs slowly believes for longer.
func TestBeliefs(t *testing.T) {
	r := newRig()
	r.real.now += 2 * sec
	r.Elected(102*sec, 7, 106*sec)
	r.expect(t, "2s n1 elected t7 until 6s")
	r.Clock.SetRate(0.5)
	r.real.now += 2 * sec // own clock: 103s
	r.Extended(103*sec, 7, 107*sec)
	r.Deposed(103*sec, 7, history.Expired)
	r.expect(t, "4s n1 extended t7 until 12s", "4s n1 deposed t7 expired")
	r.Elected(103*sec, 8, sim.Forever)
	r.expect(t, "4s n1 elected t8")
}

// The wall clock runs at the clock's rate from the machine's time on, and is as
// far off as it was set.
func TestWall(t *testing.T) {
	r := newRig()
	r.began = 1000 * time.Hour
	h := &blockingHost{Host: r.Host}
	if got := h.Wall(); got != 1000*time.Hour+epoch {
		t.Errorf("it shows %v", got)
	}
	r.setClock(protocol.Command{Rate: 0.5, OffsetMS: -3600000})
	r.real.now += 10 * sec
	if got := h.Wall(); got != 999*time.Hour+epoch+5*sec {
		t.Errorf("it shows %v after ten seconds at half the rate, an hour back", got)
	}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 0} {
		if got := h.Random(n); got != want {
			t.Errorf("a random number below %d: %d", n, got)
		}
	}
}

// A change of the clock moves the end of the belief that is under way, as
// often as it comes, and of no other one.
func TestSetClockMovesTheDeadline(t *testing.T) {
	r := newRig()
	set := func(rate float64, offset int64) { r.setClock(protocol.Command{Rate: rate, OffsetMS: offset}) }
	set(1, -3600000)
	if r.WallOffset() != -time.Hour {
		t.Errorf("the wall clock is off by %v", r.WallOffset())
	}
	r.expect(t, "clock 1 -3600000")

	r.Elected(100*sec, 7, 116*sec)
	r.lines(t)
	r.real.now += 4 * sec // 12s are left on its clock
	set(0.5, 0)
	r.expect(t, "4s n1 extended t7 until 28s", "clock 0.5 0")
	r.real.now += 4 * sec // 10s are left
	set(2, 0)
	r.expect(t, "8s n1 extended t7 until 13s", "clock 2 0")
	r.real.now += sec // 8s are left
	set(1, 0)
	r.expect(t, "9s n1 extended t7 until 17s", "clock 1 0")

	r.Elected(r.Clock.Now(), 8, sim.Forever) // no clock moves its end
	r.lines(t)
	set(0.5, 0)
	r.expect(t, "clock 0.5 0")
	r.Elected(r.Clock.Now(), 9, r.Clock.Now()+sec)
	r.Deposed(r.Clock.Now(), 9, history.Resigned) // over: there is no end to move
	r.lines(t)
	set(1, 0)
	r.expect(t, "clock 1 0")
}

// The elector's events become the history's beliefs; others are not printed.
func TestTransitions(t *testing.T) {
	r := newRig()
	for _, e := range []elector.Event{
		{Kind: event.StateChanged, At: 100 * sec}, {Kind: event.Elected, At: 101 * sec, Token: 3, Until: 105 * sec},
		{Kind: event.Trouble, At: 102 * sec}, {Kind: event.Extended, At: 103 * sec, Token: 3, Until: 107 * sec},
		{Kind: event.LeaderSeen, At: 103 * sec}, {Kind: event.Deposed, At: 104 * sec, Token: 3, Reason: elector.Reason("superseded")},
		{Kind: event.Unreachable, At: 104 * sec}, {Kind: event.Reachable, At: 104 * sec},
	} {
		r.transition(e)
	}
	r.expect(t, "1s n1 elected t3 until 5s", "3s n1 extended t3 until 7s", "4s n1 deposed t3 superseded")
}

// Commands are obeyed in order; what is none is passed over. (The end of the
// commands ends the process, so the reader here never ends.)
func TestObey(t *testing.T) {
	r := newRig()
	commands, started := make(chan []byte, 8), make(chan struct{})
	for _, line := range []string{"hello\n", `{"command":"dance"}` + "\n", `{"command":"clock","rate":0.5,"offset_ms":7}` + "\n", `{"command":"go"}` + "\n"} {
		commands <- []byte(line)
	}
	go r.obey(endless{commands}, started)
	select {
	case <-started:
	case <-time.After(30 * sec):
		t.Fatal("it never starts")
	}
	r.expect(t, "clock 0.5 7")
}

type endless struct{ lines chan []byte }

func (e endless) Read(p []byte) (int, error) { return copy(p, <-e.lines), nil }

// Every call to the store is printed before it is made and after its answer,
// with what it came to: took effect, certainly did not, or nobody knows.
func TestRecordedStore(t *testing.T) {
	r := newRig()
	inner := &brokenStore{Store: memstore.New(memstore.Options{Now: r.real.time}), rig: r, t: t}
	st := r.Recorded(inner)
	attempt := store.Attempt{Election: "e1", ID: "n1/x", Nonce: "a", Request: 4, TTL: 3 * sec}
	lease := store.Lease{Election: "e1", ID: "n1/x", Nonce: "a", Request: 5, TTL: 2 * sec}

	inner.begins = "0s n1 invoke op1 acquire a/4 ttl 3s"
	grant, err := st.Acquire(t.Context(), attempt)
	if err != nil {
		t.Fatal(err)
	}
	lease.Token = grant.Token
	r.expect(t, fmt.Sprintf("1s n1 ok op1 acquire a/4 ttl 3s t%d", grant.Token))
	inner.begins = "1s n1 invoke op2 observe /0 ttl 0s"
	if l, err := st.Leader(t.Context(), "e1"); err != nil || l.ID != "n1/x" {
		t.Errorf("leader %+v, %v", l, err)
	}
	r.expect(t, fmt.Sprintf("2s n1 ok op2 observe /0 ttl 0s t%d n1", grant.Token))
	other := store.Attempt{Election: "e1", ID: "n2/y", Nonce: "b", Request: 6, TTL: 3 * sec}
	inner.begins = "2s n1 invoke op3 acquire b/6 ttl 3s"
	var held *elector.HeldError
	if _, err := st.Acquire(t.Context(), other); !errors.As(err, &held) {
		t.Errorf("acquire what is held: %v", err)
	}
	r.expect(t, fmt.Sprintf("3s n1 fail op3 acquire b/6 ttl 3s t%d n1", grant.Token))

	inner.begins = fmt.Sprintf("3s n1 invoke op4 renew a/5 ttl 2s t%d", grant.Token)
	if err := st.Renew(t.Context(), lease); !errors.Is(err, store.ErrNotHeld) { // it ended at 3s
		t.Errorf("renew what is over: %v", err)
	}
	r.expect(t, fmt.Sprintf("4s n1 fail op4 renew a/5 ttl 2s t%d", grant.Token))
	inner.begins = fmt.Sprintf("4s n1 invoke op5 release a/5 ttl 0s t%d", grant.Token)
	if err := st.Release(t.Context(), lease); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("release what is over: %v", err)
	}
	r.expect(t, fmt.Sprintf("5s n1 fail op5 release a/5 ttl 0s t%d", grant.Token))
	inner.begins = "5s n1 invoke op6 observe /0 ttl 0s"
	if l, err := st.Leader(t.Context(), "e1"); err != nil || l.ID != "" {
		t.Errorf("leader %+v, %v", l, err)
	}
	r.expect(t, "6s n1 ok op6 observe /0 ttl 0s")
}

// What a store's errors mean: only those that elector.Store defines as a
// refusal are one, however they are wrapped; all others are unknown outcomes.
func TestRecordedErrors(t *testing.T) {
	for want, err := range map[string]error{
		"fail t9 n2": fmt.Errorf("wrapped: %w", &elector.HeldError{Holder: "n2/y", Token: 9}),
		"fail":       fmt.Errorf("wrapped: %w", store.ErrNotHeld),
		"fail elector: WRONGPASS; give the password":     &elector.FatalError{Err: errors.New("WRONGPASS"), Fix: "give the password"},
		"info connection reset":                          errors.New("connection reset"),
		"info " + context.DeadlineExceeded.Error():       context.DeadlineExceeded,
		"info EOF after ok; the lease is held, it seems": errors.New("EOF after ok; the lease is held, it seems"),
	} {
		r := newRig()
		st := r.Recorded(&brokenStore{rig: r, err: err, t: t})
		calls := map[string]func() error{
			"acquire": func() error { _, err := st.Acquire(t.Context(), store.Attempt{}); return err },
			"renew":   func() error { return st.Renew(t.Context(), store.Lease{Token: 1}) },
			"release": func() error { return st.Release(t.Context(), store.Lease{Token: 1}) },
			"observe": func() error { _, err := st.Leader(t.Context(), "e1"); return err },
		}
		for call, do := range calls {
			if got := do(); !errors.Is(got, err) {
				t.Errorf("%s: the error became %v", call, got)
			}
			kind, rest, _ := strings.Cut(want, " ")
			lines := r.lines(t)
			token := ""
			if (call == "renew" || call == "release") && !strings.HasPrefix(rest, "t") {
				token = " t1"
			}
			end := fmt.Sprintf(" %s /0 ttl 0s%s %s", call, token, rest)
			if len(lines) != 2 || !strings.Contains(lines[1], " n1 "+kind+" ") || !strings.HasSuffix(lines[1]+" ", strings.TrimRight(end, " ")+" ") {
				t.Errorf("%s, %v: printed %q, want %q", call, err, lines, want)
			}
		}
	}
}

// brokenStore lets each call take a second, checks that the invocation was
// printed before, and answers with err if it has one.
type brokenStore struct {
	elector.Store
	rig    *rig
	t      *testing.T
	begins string
	err    error
}

func (s *brokenStore) call() error {
	if s.begins != "" {
		s.rig.expect(s.t, s.begins)
	}
	s.rig.real.now += sec
	return s.err
}

func (s *brokenStore) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := s.call(); err != nil {
		return store.Grant{}, err
	}
	s.rig.real.now -= sec // the lease begins when the store is asked
	defer func() { s.rig.real.now += sec }()
	return s.Store.Acquire(ctx, a)
}

func (s *brokenStore) Renew(ctx context.Context, l store.Lease) error {
	if err := s.call(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, l)
}

func (s *brokenStore) Release(ctx context.Context, l store.Lease) error {
	if err := s.call(); err != nil {
		return err
	}
	return s.Store.Release(ctx, l)
}

func (s *brokenStore) Leader(ctx context.Context, election string) (elector.Leader, error) {
	if err := s.call(); err != nil {
		return elector.Leader{}, err
	}
	return s.Store.Leader(ctx, election)
}
