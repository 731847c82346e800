package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/supervisor"
	"github.com/recount-io/recount/sim/protocol"
)

// soak is a run.
type soak struct {
	Options
	epoch      time.Duration
	supervisor *supervisor.Supervisor
	groups     []*group
	usage      *usages
	stalls     counts
	judging    chan *history.History // has room for one of each election
	waiting    atomic.Int64          // how many events the histories have that wait for the judge
	judged     chan struct{}         // closed when there is nothing more to judge; nil before there is a judge
	stop       context.CancelCauseFunc

	mu     sync.Mutex
	report Report
	gaps   []time.Duration // without a leader, outside faults
}

// errBroken ends a soak in which nothing more is to be learned.
var errBroken = errors.New("soak: many promises are broken")

// Run soaks until the time is over, ctx is done, or many promises are broken, and says
// what came of it. The program must call supervisor.Main and Main first of all. Nothing
// that it started is left when it returns, but what is in the folder. An error is
// about the harness, not about the electors.
func Run(ctx context.Context, o Options) (*Report, error) {
	s := &soak{Options: o.filled(), epoch: protocol.Monotonic()}
	s.judging = make(chan *history.History, s.Elections)
	s.usage = &usages{now: s.now, every: min(max(s.Duration/360, time.Second), 10*time.Second)}
	s.stalls.all = map[string]*stalled{}
	s.report = Report{Options: s.Options, Unknown: map[string]int{}, Faults: map[string]int{}}
	ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("soak: %w", err)
	}
	err := errors.Join(s.open(ctx), s.live(ctx), s.trace(), s.close())
	s.awaitJudge()
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, errBroken) {
		err = cause
	}
	return s.finish(), err
}

// now is the time since the start of the run.
func (s *soak) now() time.Duration { return protocol.Monotonic() - s.epoch }

func (s *soak) say(format string, args ...any) { s.Say(format, args...) }

func (s *soak) file(name string) string { return filepath.Join(s.Folder, name) }

func (s *soak) open(ctx context.Context) (err error) {
	if s.supervisor, err = supervisor.Start(); err != nil {
		return err
	}
	for i := range s.Groups {
		if _, err := s.openGroup(ctx, i, (s.Elections+s.Groups-1-i)/s.Groups); err != nil {
			return err
		}
	}
	return nil
}

// live lets all groups live, and the judge judge.
func (s *soak) live(ctx context.Context) error {
	if len(s.groups) < s.Groups {
		return nil // it could not be opened
	}
	watching, stop := context.WithCancel(ctx)
	var watchers, groups sync.WaitGroup
	watchers.Go(func() { s.watchSelf(watching) })
	watchers.Go(func() { s.usage.watch(watching) })
	errs := make([]error, len(s.groups))
	for i, g := range s.groups {
		watchers.Go(func() { g.watch(watching) })
		groups.Go(func() {
			if errs[i] = g.live(ctx); errs[i] != nil {
				s.stop(errs[i])
			}
		})
	}
	s.judged = make(chan struct{})
	go func() {
		defer close(s.judged)
		s.judgeAll(ctx)
	}()
	groups.Wait()
	stop()
	watchers.Wait()
	return errors.Join(errs...)
}

// watchSelf looks whether the harness itself is held up: then all may have been.
func (s *soak) watchSelf(ctx context.Context) {
	protocol.Stalls(ctx, s.Lease/protocol.StallShare, func(lasted time.Duration) {
		now := s.now()
		s.stalls.count("the machine", lasted)
		for _, g := range s.groups {
			g.mu.Lock()
			targets := []string{history.StoreTarget}
			for _, m := range g.members {
				targets = append(targets, m.name)
			}
			g.stalled(targets, now-lasted, now, true)
			g.mu.Unlock()
		}
	})
}

// mostWaiting is how many events may wait for the judge: more than those of a round on a
// machine that is fast enough. They take some 400 MB.
const mostWaiting = 500_000

// judge hands a history to the judge. One that is further behind does not get it: what
// waits for it must not grow, and nobody may be kept from going on by it.
func (s *soak) judge(h *history.History) {
	events := int64(len(h.Events))
	if s.waiting.Add(events) <= mostWaiting {
		select {
		case s.judging <- h:
			return
		default:
		}
	}
	s.waiting.Add(-events)
	s.doubt("a history was dropped unjudged: the judge was too far behind")
}

// awaitJudge waits until everything is judged.
func (s *soak) awaitJudge() {
	if s.judged != nil {
		close(s.judging)
		<-s.judged
	}
}

// judgeAll judges histories until there are no more. Those that come after ctx is done
// are dropped: who has stopped the run does not wait for them.
func (s *soak) judgeAll(ctx context.Context) {
	chain := checker.Chain{Options: checker.Options{PorcupineCap: judgeCap}}
	first := map[checker.Promise]string{}
	for h := range s.judging {
		s.waiting.Add(-int64(len(h.Events)))
		if ctx.Err() != nil {
			s.doubt("a history was dropped unjudged: the run was stopped")
			continue
		}
		result := chain.Add(h)
		gaps, terms, handed := gapsOf(h, returnBound*s.Lease+slack)
		s.mu.Lock()
		s.gaps = append(s.gaps, gaps...)
		s.report.Terms += terms
		s.report.HandOvers += handed
		for _, f := range result.Asked {
			if f.Verdict == checker.Unknown && !f.Moot {
				if first[f.Promise] == "" {
					first[f.Promise] = f.Reason // of thousands one is enough
				}
				s.report.Unknown[string(f.Promise)+", the first time: "+first[f.Promise]]++
			}
		}
		s.mu.Unlock()
		for _, f := range result.Measured {
			if f.Verdict == checker.Fail && f.Promise == checker.WriteWithinTerm {
				s.doubt("measured, not asked for: a write after the end of its term")
			}
		}
		if result.Verdict == checker.Fail {
			s.keep(h, result)
		}
	}
	s.report.Summary = chain.Summary() // nobody else writes any more
}

// injected counts a fault.
func (s *soak) injected(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Faults[name]++
}

// doubt notes what was not judged, or not as it should have been.
func (s *soak) doubt(what string) { s.doubts(what, 1) }

func (s *soak) doubts(what string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Unknown[what] += n
}

// mostBroken is how many broken promises end a soak: the first says the most, and
// the others whether it was the only one.
const mostBroken = 10

// keep writes a history that breaks a promise.
func (s *soak) keep(h *history.History, of *checker.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.file(fmt.Sprintf("history-%d.jsonl", len(s.report.Broken)+1))
	var text bytes.Buffer
	err := h.Write(&text)
	if err == nil {
		err = os.WriteFile(path, text.Bytes(), 0o600)
	}
	for _, f := range of.Asked {
		if f.Verdict == checker.Fail {
			s.report.Broken = append(s.report.Broken, fmt.Sprintf("%s: %s; see %s", f.Promise, f.Reason, path))
			s.say("BROKEN: %s: %s; see %s", f.Promise, f.Reason, path)
			break
		}
	}
	if err != nil {
		s.stop(fmt.Errorf("soak: keep a history: %w", err))
	}
	if len(s.report.Broken) == mostBroken {
		s.stop(errBroken)
	}
}

// trace writes which goroutines the harness has at the end.
func (s *soak) trace() error {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	return os.WriteFile(s.file("goroutines.txt"), text.Bytes(), 0o600)
}

func (s *soak) close() error {
	var errs []error
	for _, g := range s.groups {
		errs = append(errs, g.close())
	}
	if s.supervisor != nil {
		errs = append(errs, s.supervisor.Close())
	}
	return errors.Join(errs...)
}
