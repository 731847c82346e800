package live

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// way is how a candidate gets to the store: a link to each of its servers. Most
// stores are one server.
type way []Link

// Cut cuts every link.
func (w way) Cut(c network.Cut) error {
	return w.each(func(l Link) error { return l.Cut(c) })
}

// Delay holds back what passes on every link.
func (w way) Delay(latency, jitter time.Duration) error {
	return w.each(func(l Link) error { return l.Delay(latency, jitter) })
}

// Bandwidth limits what passes on every link.
func (w way) Bandwidth(kilobytes int) error {
	return w.each(func(l Link) error { return l.Bandwidth(kilobytes) })
}

// Heal takes everything off every link.
func (w way) Heal() error {
	return w.each(func(l Link) error { return l.Heal() })
}

// Lead makes every link a way to one other server.
func (w way) Lead(upstream string) error {
	return w.each(func(l Link) error { return l.Lead(upstream) })
}

// each calls do for all links at one time.
func (w way) each(do func(Link) error) error {
	errs := make([]error, len(w))
	stage.Each(len(w), func(i int) { errs[i] = do(w[i]) })
	return errors.Join(errs...)
}

// Probe returns how long the first answer to a PING took, over whichever link.
// The error is that of a way over which nobody answers.
func (w way) Probe(ctx context.Context) (time.Duration, error) {
	type answer struct {
		took time.Duration
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(w))
	for _, l := range w {
		go func() {
			took, err := l.Probe(ctx)
			answers <- answer{took, err}
		}()
	}
	var errs []error
	for range w {
		a := <-answers
		if a.err == nil {
			return a.took, nil
		}
		errs = append(errs, a.err)
	}
	return 0, errors.Join(errs...)
}

// Addr is where the first link accepts connections.
func (w way) Addr() string { return w[0].Addr() }

// urls are those by which a candidate reaches the servers, over one link each.
func (w way) urls(servers []redisserver.Server) []string {
	var list []string
	for i, server := range servers {
		list = append(list, server.CandidateURL(w[i].Addr()))
	}
	return list
}

// via tells a candidate which link leads to which of the servers, as the
// candidate protocol has it.
func (w way) via(servers []string) string {
	var pairs []string
	for i, server := range servers {
		pairs = append(pairs, server+"="+w[i].Addr())
	}
	return strings.Join(pairs, ",")
}
