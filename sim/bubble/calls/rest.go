package calls

import (
	"sync"
	"time"

	"github.com/recount-io/recount/history"
)

// How a run comes to its end.

// heal mends what is broken still, and says so.
func (r *run) heal() {
	r.mu.Lock()
	r.calm = true
	r.mu.Unlock()
	r.mend()
	r.recorder.Stamp(history.Event{Kind: history.Healed})
}

func (r *run) healed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calm
}

// ending reports whether the run ends: nobody starts any more.
func (r *run) ending() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// end ends all processes, and what hangs. Those that are well are asked to, and
// held to what they say of their end.
func (r *run) end() {
	var quitting sync.WaitGroup
	for i, p := range r.processes {
		if r.Processes[i].hangs() {
			p.kill()
			continue
		}
		quitting.Go(func() { p.quit(12 * r.longest()) })
	}
	quitting.Wait()
	if r.onlooker != nil {
		r.onlooker.leave()
	}
	close(r.over)
	for _, p := range r.processes {
		p.link.Close()
	}
	r.lives.Wait()
	time.Sleep(10 * time.Second) // Redis clients notice within seconds that they were closed
}

// patience is after what time a run is given up: it takes much less, whatever
// happens in it.
func (r *run) patience() time.Duration { return r.Case.calm() + 60*r.longest() + time.Minute }

// awaitRest waits for the end of the run. One that never comes to rest would take all
// the time that there is: what still runs then is named, and nothing of it goes on.
func (r *run) awaitRest(ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-time.After(r.patience()):
	}
	r.mu.Lock()
	lived := r.lived
	r.mu.Unlock()
	for _, l := range lived {
		select {
		case <-l.ended:
			continue
		default:
		}
		l.gate.Close()
		r.Find(comesToRest, "%s, which lives since %v, has not ended at %v", l.process.name, l.began.Sub(r.began), time.Since(r.began))
	}
}
