package jobs

import (
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// What the server holds of the locks, as it is seen after each command.

// notYet is the time of what has not happened.
const notYet = time.Duration(-1)

// unit is what a server counts in.
const unit = time.Millisecond

// lock is what the server has held of a job's lock.
type lock struct {
	name    string
	held    []*holding    // in the order of their grants
	most    uint64        // the largest token that was granted
	asked   time.Duration // when it was first refused though nobody held it, since the server may have forgotten something
	retired bool          // tokens began anew
	used    time.Duration // when it was last asked for
}

// holding is a grant of the lock, and what became of it.
type holding struct {
	token    uint64
	id       string        // the elector's
	at, wall time.Duration // of the grant: since the beginning, and by the server's clock
	ends     time.Duration // by the server's clock
	over     time.Duration // since when it is held no more
	touched  time.Duration // when the store wrote of it last
	call     *call         // whose job has begun; nil: none has
	left     bool          // to end by itself when the least time is over: a renewal that comes later undoes that
}

func (l *lock) key(what string) string {
	return redisstore.DefaultPrefix + "{" + l.name + "}:" + what
}

// of reports whether a key is of the lock.
func (l *lock) of(key string) bool {
	return strings.HasPrefix(key, redisstore.DefaultPrefix+"{"+l.name+"}:")
}

// present is the holding that the lock is held in, nil if nobody holds it.
func (l *lock) present() *holding {
	if n := len(l.held); n > 0 && l.held[n-1].over == notYet {
		return l.held[n-1]
	}
	return nil
}

// byToken is the last holding with a token.
func (l *lock) byToken(token uint64) *holding {
	for i := len(l.held) - 1; i >= 0; i-- {
		if l.held[i].token == token {
			return l.held[i]
		}
	}
	return nil
}

// heldBetween reports whether anybody but one elector held the lock at a time.
func (l *lock) heldBetween(from, to time.Duration, but string) bool {
	for _, h := range l.held {
		if h.id != but && h.at <= to && (h.over == notYet || h.over >= from) {
			return true
		}
	}
	return false
}

// look takes in what the server holds of a lock. An act that takes it away has no need
// to explain itself.
func (r *run) look(db *redismodel.Server, l *lock, act bool) {
	wall := r.control.Clock()
	value := db.Do(wall, "GET", l.key("lease")).Text
	fields := strings.Fields(value)
	h := l.present()
	if len(fields) != 4 {
		r.ends(l, h, act)
		return
	}
	token, _ := strconv.ParseUint(fields[1], 10, 64) // as the scripts write it
	ends := time.Duration(db.Do(wall, "PEXPIRETIME", l.key("lease")).Int) * time.Millisecond
	if ends < 0 {
		r.find(nothingLeft, "the lock of %s has no time to live", l.name)
	}
	if last := l.byToken(token); h == nil && last != nil && last.id == fields[3] && r.control.Stepped() { // its clock was set back
		h = last
		h.over = notYet
	}
	if h != nil && h.token == token && h.id == fields[3] {
		if ends != h.ends {
			r.prolonged(l, h, ends)
		}
		return
	}
	r.ends(l, h, act)
	r.granted(l, token, fields[3], ends)
}

// ends notes that a lock is held no more, if it was.
func (r *run) ends(l *lock, h *holding, act bool) {
	switch {
	case h == nil:
	case act:
		r.tell("%s: token %d is taken away", l.name, h.token)
		h.over = r.now()
	case r.control.Clock() >= h.ends+unit:
		r.expired(l, h)
	default:
		r.released(l, h)
	}
}

// granted notes that the lock was granted.
func (r *run) granted(l *lock, token uint64, id string, ends time.Duration) {
	h := &holding{token: token, id: id, at: r.now(), touched: r.now(), wall: r.control.Clock(), ends: ends, over: notYet}
	r.tell("%s: token %d is granted to %s for %v", l.name, token, id, ends-h.wall)
	r.expectLeast(l, h)
	r.expectAlone(l, h)
	if token <= l.most && !l.retired && !r.losesCount() {
		r.find(tokensGrow, "%s: token %d is granted after %d", l.name, token, l.most)
	}
	l.most = max(l.most, token)
	l.held = append(l.held, h)
	r.awaitExpiry(l, h)
	r.expectBegin(l, h)
}

// prolonged notes that the lock lasts until then, and for how long it does.
func (r *run) prolonged(l *lock, h *holding, ends time.Duration) {
	r.tell("%s: token %d lasts for %v", l.name, h.token, ends-r.control.Clock())
	h.ends, h.touched = ends, r.now()
	if h.call != nil && h.call.job.Err() != nil && ends <= h.wall+r.AtLeast+r.excess() {
		h.left = true
	}
	r.expectLasts(l, h)
	r.awaitExpiry(l, h)
}

// awaitExpiry sees to it that the end of the lock is noted: the server has a key for as
// long as its clock shows the millisecond in which that ends.
func (r *run) awaitExpiry(l *lock, h *holding) {
	ends := h.ends
	time.AfterFunc(ends+unit-r.control.Clock()+r.apart(l), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case h.over != notYet || h.ends != ends:
		case r.control.Clock() < ends+unit: // its clock was set back
			r.awaitExpiry(l, h)
		default:
			r.expired(l, h)
		}
	})
}

// expired notes that the lock has ended by itself.
func (r *run) expired(l *lock, h *holding) {
	r.tell("%s: token %d ends by itself", l.name, h.token)
	h.over = r.now()
	r.expectOver(l, h, "ended by itself")
	r.expectNext(l, h)
}

// released notes that the lock was given back.
func (r *run) released(l *lock, h *holding) {
	r.tell("%s: token %d is given back", l.name, h.token)
	h.over, h.touched = r.now(), r.now()
	r.see("given back")
	left := r.AtLeast - max(r.control.Clock()-h.wall, r.now()-h.at)
	if h.call != nil && left > unit {
		r.find(leastTime, "%s: token %d is given back %v before its least time is over", l.name, h.token, left)
	}
	r.expectOver(l, h, "is given back")
	r.expectNext(l, h)
}

// asks notes that somebody was refused the lock though nobody holds it.
func (r *run) asks(l *lock, args []string) {
	acquires := len(args) > 4 && args[4] == l.key("token")
	if !acquires {
		return
	}
	if l.present() == nil && r.lapses(l) {
		r.lapsed, l.asked = true, notYet
	}
	if l.present() == nil && l.asked == notYet {
		l.asked = r.now()
	}
	l.used = r.now()
}

// lapses reports whether the keys of a lock may have expired since it was used. That a
// lease ends by itself is no use of them.
func (r *run) lapses(l *lock) bool {
	last := l.used
	if n := len(l.held); n > 0 {
		last = max(last, l.held[n-1].touched)
	}
	return r.Expire > 0 && r.now()-last >= r.Expire/2-unit
}

// mayForget notes that the server may have forgotten what it knew.
func (r *run) mayForget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.locks {
		l.asked = notYet
	}
}

// taken takes in what an act has done to the data.
func (r *run) taken() {
	server := r.primary()
	if !server.Open() {
		return
	}
	server.With(func(dbs []*redismodel.Server, _ time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, l := range r.locks {
			r.look(dbs[0], l, true)
		}
	})
}
