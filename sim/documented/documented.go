package documented

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// patient is the time-out of a client that has none by default: it waits until
// an answer comes or its connection breaks.
const patient = 24 * time.Hour

// flag is what an elector answers when it is asked whether it leads. Nothing
// lowers it but the elector's own code: the belief has no end of its own. While
// it is up, the leader's work is done.
type flag struct {
	host  sim.Host
	up    bool
	token uint64 // 0: this elector has none
	end   func() // ends the work
}

func (f *flag) raise(token uint64) {
	f.host.Elected(token, sim.Forever)
	f.up, f.token, f.end = true, token, f.host.Work(token)
}

// lower does nothing if the flag is not up.
func (f *flag) lower(why history.Why) {
	if !f.up {
		return
	}
	f.up = false
	f.host.Deposed(f.token, why)
	f.end()
}

// times are how an elector tells Redis a time to live: in seconds, as all the
// documents do, or in milliseconds where it is no whole number of seconds.
type times struct {
	option string // of SET: EX or PX
	expire string // the command EXPIRE or PEXPIRE
	setFor string // the command SETEX or PSETEX
	value  string
}

func timesOf(ttl time.Duration) times {
	if ttl%time.Second == 0 {
		return times{"EX", "EXPIRE", "SETEX", strconv.FormatInt(int64(ttl/time.Second), 10)}
	}
	return times{"PX", "PEXPIRE", "PSETEX", strconv.FormatInt(ttl.Milliseconds(), 10)}
}

// done reports whether Redis answered OK to a SET, or 1 to what counts keys.
func done(reply any, err error) bool {
	return err == nil && (reply == "OK" || reply == int64(1))
}

// own is an id that no other process has.
func own(h sim.Host) string {
	return h.Settings().Node + "-" + strconv.FormatUint(uint64(h.Random(1<<31)), 16)
}
