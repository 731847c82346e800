package jobs

import "time"

// Whether something was in the way. All of it is asked while the run is locked.

// soon is how long a few requests take, at the most, if nothing is in their way: one
// opens a connection, one or two send a script and its text.
func (r *run) soon() time.Duration { return 10*r.RoundTrip + 100*time.Millisecond }

// crossing is for how long requests may be under way that were sent before others which
// have arrived.
func (r *run) crossing() time.Duration { return 4*r.RoundTrip + 5*unit }

// calm reports whether nothing was in a host's way in that time. Nobody's host is that of
// everybody.
func (r *run) calm(h *host, from, to time.Duration) bool {
	if r.far() {
		return false
	}
	for i, a := range r.Acts {
		t, whom := table[a.Kind], r.struck[i]
		one := t.way || a.Kind == Pause
		if !t.server && !t.data && !(one && (h == nil || whom == nil || whom == h)) {
			continue
		}
		if r.start+a.At <= to && a.forgotten(r.Lease) >= from-r.start {
			return false
		}
	}
	return true
}

// unsure reports whether something may have made the server forget what it knew.
func (r *run) unsure() bool {
	if !r.Created || r.lapsed {
		return true
	}
	for _, a := range r.Acts {
		if table[a.Kind].data && r.start+a.At <= r.now() {
			return true
		}
	}
	return false
}

// losesCount reports whether the count of tokens may go down: it was lost while the
// server's clock, which stands in for it, was wrong.
func (r *run) losesCount() bool {
	return r.has(StepClock) && r.has(Restart, Replace, Wipe, Evict, Retire)
}

// excused reports whether a process cannot know that its time is over: it does not live,
// or stands still, or did so a moment ago.
func (c *call) excused() bool {
	l := c.life
	return l.dead || l.still || l.moved != notYet && c.run.now()-l.moved <= unit
}

// holdsOn reports whether the job runs and was told nothing else.
func (c *call) holdsOn() bool { return c.working && c.job.Err() == nil && !c.excused() }

// slowest is how long it takes until the slowest clock has shown so much.
func (r *run) slowest(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 - r.drift()))
}

// excess is by how much the lock may outlast its least time: the host's clock may be slow
// by the drift, and may be the fast one for all that it knows; the time is counted there
// from when the grant is known, and at the server from when a request comes, which may
// have waited for a connection.
func (r *run) excess() time.Duration {
	return r.slowest(r.slowest(r.AtLeast)) - r.AtLeast + 6*r.RoundTrip + 2*unit
}
