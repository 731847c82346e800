package wire

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
)

// Conn reads one connection of a candidate. The caller passes commands and replies in
// the order in which they are sent and come.
type Conn struct {
	lock *Lock
	node string
	tell func(history.Event)
	next func() int64

	db       int
	queues   bool      // between MULTI and EXEC
	queue    []command // what was sent since MULTI
	later    int       // the database after EXEC
	watching []watched
}

// command is what was sent, and where to.
type command struct {
	db   int
	name string
	args []string
	cut  bool // not all of it is there
	sent moment
}

// moment is when a request was sent.
type moment struct {
	time.Time      // by the server's wall clock; zero if that is not known
	leads     bool // its node certainly had the lease of a record then
}

// Exchange is a command and what became of it.
type Exchange struct {
	conn     *Conn
	commands []command // what takes effect with it: itself, or those of the transaction
	multi    bool      // EXEC
	queued   bool      // it only becomes part of a transaction
	sentAs   command
	before   view // what is known of the lock before the transaction
	sent     int
	was      int // if it changes the database: the one before, else -1
	ops      []*operation
	writes   []string  // values that it may have written
	strange  string    // why it is not understood, if so
	obscure  string    // why nothing of it is, whatever the reply
	murky    bool      // it may have written what nobody knows
	held     []string  // values that the node had in the lock, or may have had, when it was sent
	stamp    time.Time // of the record that it wrote
	around   around
	over     bool
}

// operation is one that an exchange may turn out to have been.
type operation struct {
	event     history.Event
	reentrant bool // an acquire that may also have prolonged the node's own lease
	distinct  bool // the reply tells it apart from a renewal
	vague     bool // even if it took effect nobody can say that it was this one
	blind     bool // a renewal of whatever lease there is: nothing was asked about whose it is
}

// Send notes that a command is about to be sent, and tells what it begins:
// call it before the command's last byte is sent.
func (c *Conn) Send(args []string) *Exchange { return c.send(args, false) }

// send is Send; cut says that not all of the command is there.
func (c *Conn) send(args []string, cut bool) *Exchange {
	c.lock.mu.Lock()
	defer c.lock.mu.Unlock()
	c.lock.tick++
	x := &Exchange{conn: c, sent: c.lock.tick, was: -1}
	if len(args) == 0 {
		return x
	}
	cmd := command{db: c.db, name: upper(args[0]), args: args, cut: cut, sent: c.lock.moment(c.node)}
	if c.queues {
		cmd.db = c.later
	}
	x.sentAs = cmd
	c.loads(cmd)
	c.lock.writes(cmd)
	c.lock.look(c.node, cmd)
	switch {
	case cmd.name == "MULTI" && !c.queues:
		c.queues, c.queue, c.later = true, nil, c.db
	case cmd.name == "EXEC":
		x.commands, x.multi = c.queue, true
		for i := range x.commands {
			x.commands[i].sent = cmd.sent // only now they are carried out
		}
		x.was, c.db = c.db, c.later
		c.claims(c.queue)
		if seen := c.watch(c.lock.key); seen != nil && c.lock.found {
			x.before = *seen
		}
		c.queues, c.queue = false, nil
	case cmd.name == "DISCARD" || cmd.name == "RESET":
		c.queues, c.queue = false, nil
		if cmd.name == "RESET" {
			c.db = 0
		}
	case c.queues:
		x.queued = true
		c.enqueue(cmd)
		return x
	default:
		x.commands = []command{cmd}
		c.configure(x, cmd)
	}
	c.watches(cmd)
	x.begin()
	if len(x.ops) == 0 {
		x.commands = nil // nothing of it is needed again
	}
	return x
}

// Answer notes that the reply was read, and tells how what the command began
// ended.
func (x *Exchange) Answer(v Value) {
	l := x.conn.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.over {
		return
	}
	x.over = true
	l.tick++
	if x.queued && v.Kind != Error && v.Text != "QUEUED" {
		x.conn.note("queue", "a command was carried out that seemed to be part of a transaction: what such commands do is not known")
	}
	x.configured(v)
	x.saw(v)
	x.passed(true)
	x.end(v)
}

// Lose notes that the reply will never be read. The text says why.
func (x *Exchange) Lose(err string) {
	l := x.conn.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.over {
		return
	}
	x.over = true
	l.tick++
	x.lose(err)
}

// lose is Lose; the caller holds the lock's mutex.
func (x *Exchange) lose(err string) {
	x.passed(false)
	for _, value := range x.writes {
		x.settle(value, history.Info)
	}
	for _, op := range x.ops {
		x.complete(op, history.Info, "", err)
	}
}

// lost notes that what the connection carries from now on is not read. The text says
// why.
func (c *Conn) lost(why string) {
	if x := c.anything(); x != nil {
		x.Lose(why)
	}
}

// anything begins what may turn out to be any operation on the lock; nil as long as no
// lock is known.
func (c *Conn) anything() *Exchange {
	c.lock.mu.Lock()
	defer c.lock.mu.Unlock()
	if !c.lock.found {
		return nil
	}
	c.lock.tick++
	return c.whatever("a connection that is not read any more")
}

// whatever begins any operation on the lock.
func (c *Conn) whatever(what string) *Exchange {
	x := &Exchange{conn: c, sent: c.lock.tick, was: -1, obscure: what}
	x.expect(view{unclear: what})
	x.announce(what)
	return x
}

// maxQueue is how many commands of one transaction are remembered.
const maxQueue = 1000

// enqueue adds a command to the transaction. Of those that are not about the
// lock only the place is remembered.
func (c *Conn) enqueue(cmd command) {
	if len(c.queue) > maxQueue {
		return // such a transaction does not fit its reply
	}
	if cmd.name == "SELECT" && len(cmd.args) == 2 {
		if n, err := strconv.Atoi(cmd.args[1]); err == nil {
			c.later = n
		}
	}
	if traces, known := c.traces(cmd, &view{}); traces == nil && known && !c.named(cmd) {
		cmd = command{}
	}
	c.queue = append(c.queue, cmd)
}

// note tells something once in a run.
func (c *Conn) note(id, text string) {
	if !c.lock.noted[id] {
		c.lock.noted[id] = true
		c.tell(history.Event{Kind: history.Note, Node: c.node, Text: text})
	}
}

// begin tells the operations that the exchange may turn out to be.
func (x *Exchange) begin() {
	strange := ""
	x.held = x.conn.lock.member(x.conn.node).holds.names()
	views := x.possible()
	x.foresee(views)
	for i := range views {
		v := views[i]
		x.names(&v)
		strange = cmp.Or(strange, v.unclear)
		if v.wrote {
			x.write(v.value)
		}
		x.expect(v)
	}
	x.merge()
	x.announce(strange)
}

// announce tells the operations that are expected, and why they are not understood,
// if so.
func (x *Exchange) announce(strange string) {
	c := x.conn
	if len(x.ops) > 0 {
		x.strange = strange
		c.lock.tally.count(c.node, strange)
	}
	if strange != "" {
		x.murky = true
		c.lock.member(c.node).murky++
	}
	for _, op := range x.ops {
		op.event.Kind, op.event.Node, op.event.Op, op.event.Evidence = history.Invoke, c.node, c.next(), history.FromWire
		switch {
		case op.blind:
			op.event.Text = anyHolder
		case len(x.ops) > 1:
			op.event.Text = oneOfSeveral
		}
		if op.event.Call == history.Acquire {
			x.enter(op)
		}
	}
	for _, op := range x.ops {
		c.tell(op.event)
	}
}

// write notes a value that the exchange may write.
func (x *Exchange) write(value string) {
	if value == foreign { // a script put back what it found
		return
	}
	l := x.conn.lock
	if !l.records { // whose a record is it says itself
		l.own(x.conn.node, value)
	}
	if !slices.Contains(x.writes, value) {
		x.writes = append(x.writes, value)
		m := l.member(x.conn.node)
		m.holds.enter(value)
		m.entered[value] = l.tick
	}
}

// written notes which of the values it wrote, if one of the views is what happened. A
// value that was there already, and stays, is in the lock as well.
func (x *Exchange) written(views []view) {
	for i := range views { // one that was made of the reply was not foreseen
		if v := &views[i]; v.unclear == "" && v.wrote {
			x.write(v.value)
		}
	}
	for _, value := range x.writes {
		did := func(v view) bool { return v.wrote && v.value == value }
		stays := func(v view) bool { return !v.wrote && !v.idle && v.now == present && v.known && v.held == value }
		kind := history.Info
		switch {
		case len(views) == 0 || slices.ContainsFunc(views, func(v view) bool { return v.unclear != "" }):
		case !slices.ContainsFunc(views, did):
			kind = history.Fail
		case !slices.ContainsFunc(views, func(v view) bool { return !did(v) && !stays(v) }):
			kind = history.Ok
		}
		x.settle(value, kind)
	}
}

// settle notes what became of a value that the exchange might have written.
func (x *Exchange) settle(value string, kind history.Kind) {
	l := x.conn.lock
	l.member(x.conn.node).holds.leave(value, kind, x.sent, l.tick)
}

// oneOfSeveral is the text of operations of which one command turns out to be
// one at the most.
const oneOfSeveral = "one of several"

// anyHolder is the text of renewals that do not ask whose lease they prolong. It is part
// of histories.
const anyHolder = "the lease of any holder"

// expect adds the operation that the view shows.
func (x *Exchange) expect(v view) {
	switch v.call {
	case "": // below
	case history.Release:
		x.add(v.call, 0)
		return
	}
	if v.unclear != "" {
		for _, call := range []history.Call{history.Acquire, history.Renew, history.Release} {
			x.add(call, Endless)
		}
		return
	}
	switch v.call {
	case "":
		if len(x.ops) == 0 {
			x.add(history.Observe, 0)
		}
	case history.Acquire:
		op := x.add(v.call, v.ttl)
		op.distinct = v.shown && !x.scripted()
		op.reentrant = op.reentrant || !v.fresh && !op.distinct
	default:
		before := len(x.ops)
		op := x.add(v.call, v.ttl)
		op.blind = !v.wrote && !v.known && !v.other && (op.blind || len(x.ops) > before)
	}
}

func (x *Exchange) add(call history.Call, ttl time.Duration) *operation {
	if call == history.Release {
		ttl = 0
	}
	for _, op := range x.ops {
		if op.event.Call == call && op.event.TTL == ttl {
			return op
		}
	}
	op := &operation{event: history.Event{Call: call, TTL: ttl}}
	x.ops = append(x.ops, op)
	return op
}

// merge leaves out what others say already: an observation where something may
// have been written, and a renewal where the acquire is one as well. Who was refused
// the lease and prolongs whatever is there (SETNX and EXPIRE in one transaction) has
// not acquired it: that is another operation.
func (x *Exchange) merge() {
	if len(x.ops) > 1 {
		x.ops = slices.DeleteFunc(x.ops, func(op *operation) bool { return op.event.Call == history.Observe })
	}
	several := len(x.conn.lock.member(x.conn.node).nonces) > 1
	for _, op := range slices.Clone(x.ops) {
		if op.event.Call != history.Acquire || op.vague || op.distinct {
			continue
		}
		same := func(r *operation) bool {
			return r.event.Call == history.Renew && r.event.TTL == op.event.TTL && !r.blind
		}
		renewal := slices.IndexFunc(x.ops, same)
		op.reentrant = op.reentrant || renewal >= 0
		switch {
		case op.reentrant && several:
			op.vague = true
			x.add(history.Renew, op.event.TTL).vague = true
		case renewal >= 0:
			x.ops = slices.DeleteFunc(x.ops, same)
		}
	}
}

// enter gives an acquire its nonce.
func (x *Exchange) enter(op *operation) {
	l := x.conn.lock
	m := l.member(x.conn.node)
	if op.reentrant && !op.vague && len(m.nonces) == 1 {
		op.event.Nonce = m.nonces[0].name
	} else {
		op.event.Nonce = l.nonce(x.conn.node)
	}
	m.nonces.enter(op.event.Nonce)
}
