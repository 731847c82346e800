package explore

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// writtenOffice is an election as it is written: flags; for how long the last leader
// believes; for how long the lease's key is there; and 1 more than for how long a lease
// lasts by the witness, 0 if the witness says nothing.
type writtenOffice [4]byte

// The flags of an election.
const (
	officeGranted = 1 << iota
	officeLease   // the key is there, as are the next two
	officeGuard
	officeCounter
	officeCounted // the counter has the last token
)

// append writes the world so that states which differ in nothing that matters are the
// same bytes. Times count from the present, and what is over is as good as just over.
// Elections are alike but for their names, so they are written in the order of their
// bytes.
//
// A lease's key and a guard have what the last grant wrote, and a counter has its token
// or 0. What nobody decides by is left out: the candidates and the terms.
func (w *witnessed) append(b []byte) []byte {
	b = append(w.appendLimits(b), w.since())
	var list []writtenOffice
	for e := range w.offices {
		list = append(list, w.write(&w.offices[e]))
	}
	slices.SortFunc(list, func(x, y writtenOffice) int { return bytes.Compare(x[:], y[:]) })
	for _, one := range list {
		b = append(b, one[:]...)
	}
	return b
}

func (w *witnessed) write(o *office) (b writtenOffice) {
	b[0] = flag(o.token != 0, officeGranted) | flag(w.there(o.keys[keyGuard]), officeGuard)
	b[1] = byte(max(o.until-w.tick(), 0) / machine.Tick)
	if left := w.do("PTTL", o.keys[keyLease]).Int; left >= 0 {
		b[0] |= officeLease
		b[2] = byte(left)
	}
	if r := w.do("GET", o.keys[keyCounter]); r.Kind == redismodel.Bulk {
		b[0] |= officeCounter | flag(r.Text == tokenText(o.token), officeCounted)
	}
	if ends, noted := w.noted("of " + o.keys[keyGuard]); noted {
		b[3] = byte(1 + max(ends, 0))
	}
	return b
}

// since is 1 more than for how long the server has forgotten nothing, a lease at the
// most; 0 if the witness says nothing.
func (w *witnessed) since() byte {
	since, noted := w.noted("since")
	if !noted {
		return 0
	}
	return byte(1 + min(-since, int64(w.set.Lease)))
}

// noted is how many milliseconds after the present a time of the witness is.
func (w *witnessed) noted(field string) (ms int64, noted bool) {
	at, err := strconv.ParseInt(w.do("HGET", keyNames[keyWitness], field).Text, 10, 64)
	return at - w.now.Milliseconds(), err == nil
}

// load makes the world the one that was written as b, which must stay as it is.
func (w *witnessed) load(b []byte) {
	w.state, w.folded, w.asked = b, true, 0
	w.now = epoch - time.Second // so that a key may end in the present, which is not over
	w.do("FLUSHALL")
	b = w.loadLimits(b)
	if b[0] > 0 {
		known, _ := w.server.History()
		w.note("history", known, "replicas", "", "since", momentText(1-int(b[0])))
	}
	b = b[1:]
	for e := range w.offices {
		w.read(&w.offices[e], writtenOffice(b))
		b = b[len(writtenOffice{}):]
	}
	w.now = epoch
}

// again makes the world the one that was read last.
func (w *witnessed) again(Action) { w.load(w.state) }

func (w *witnessed) read(o *office, b writtenOffice) {
	o.id, o.nonce, o.token, o.until = "0", "x0", 0, epoch+ticks(int(b[1]))
	if b[0]&officeGranted != 0 {
		o.token = lastToken
	}
	if b[0]&officeLease != 0 {
		w.do("SET", o.keys[keyLease], o.value())
		w.do("PEXPIREAT", o.keys[keyLease], momentText(int(b[2])))
	}
	if b[0]&officeGuard != 0 {
		w.do("HSET", o.keys[keyGuard], "longest", w.lease(), "lasts", w.lease(), "value", o.value())
	}
	switch {
	case b[0]&officeCounted != 0:
		w.do("SET", o.keys[keyCounter], tokenText(o.token))
	case b[0]&officeCounter != 0:
		w.do("SET", o.keys[keyCounter], "0")
	}
	if b[3] > 0 {
		w.note("of "+o.keys[keyGuard], momentText(int(b[3])-1))
	}
}

func (w *witnessed) note(pairs ...string) {
	w.do(append([]string{"HSET", keyNames[keyWitness]}, pairs...)...)
}

// lastToken is the last one of a state that was read: smaller than the server's time in
// microseconds, as all are.
var lastToken = uint64(epoch/time.Microsecond) - 1

func tokenText(token uint64) string { return strconv.FormatUint(token, 10) }

// momentText is a moment of the server's time, so many milliseconds after the present of
// a state that was read.
func momentText(after int) string {
	return strconv.FormatInt(epoch.Milliseconds()+int64(after), 10)
}

// written is the same in all: nobody comes back.
func (w *witnessed) written() phase { return w.phase }
