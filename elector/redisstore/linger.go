package redisstore

import "time"

// lingers is how long a listener stays on a channel when its last watch has ended, and
// there at all: a program that calls for one term after another comes back within moments.
const lingers = 5 * time.Second

// leave ends what the watch began. Some time after the last one the connection is
// closed; at once if it is not there yet, or cannot leave its channel.
func (l *listener) leave(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.remove(w) {
		return
	}
	w.end(nil)
	last := len(l.watches) == 0
	if last && (!l.open || !l.leavable) {
		l.finish(errNoListeners)
		return
	}
	if l.watches[w.channel] == nil && l.leavable {
		if w.there {
			l.idle[w.channel] = time.Now()
		} else { // the next one's begin would be taken for confirmed
			l.ask(&request{kind: "unsubscribe", name: w.channel})
		}
	}
	if l.left = time.Now(); l.tidy == nil && (last || len(l.idle) > 0) {
		l.tidy = time.AfterFunc(l.lingers, l.expire)
	}
}

// expire ends the listener if nobody has come back, or leaves the channels to which
// nobody has.
func (l *listener) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tidy = nil
	if l.over {
		return
	}
	next := l.lingers
	if len(l.watches) == 0 {
		if next = l.lingers - time.Since(l.left); next <= 0 {
			l.finish(errNoListeners)
			return
		}
	}
	for channel, since := range l.idle {
		if rest := l.lingers - time.Since(since); rest > 0 {
			next = min(next, rest)
			continue
		}
		delete(l.idle, channel)
		l.ask(&request{kind: "unsubscribe", name: channel})
	}
	if len(l.watches) == 0 || len(l.idle) > 0 {
		l.tidy = time.AfterFunc(next, l.expire)
	}
}

// rest stops what would tidy up. The caller holds mu.
func (l *listener) rest() {
	if l.tidy != nil {
		l.tidy.Stop()
		l.tidy = nil
	}
}
