package virtual

import (
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/virtual/session"
	"github.com/recount-io/recount/sim/wire"
)

// passage is a connection of a program to the store. What is sent keeps its order, and
// is lost or late as the link says; what was lost ends the connection when the link is
// mended.
type passage struct {
	owner   *programProcess
	number  int
	open    bool
	at      *server
	session *session.Session
	asked   wire.Commands // as the server reads them
	stream  *wire.Stream  // what the candidate sends and gets
	up      time.Duration // when the last message reached the store
	down    time.Duration // when the last one reached the candidate
	inbox   []Came        // on its way to the candidate
	asks    int           // so much was sent, or dialled, since something came
}

// passing is what a message does when it has travelled.
type passing func()

// act implements actor.
func (p passing) act(uint64) { p() }

// after plans what a message does when it has travelled that way, after all that are
// before it.
func (p *passage) after(d direction, does func()) {
	r := p.owner.node.run
	last := &p.up
	at := r.now + p.owner.node.link.travel(d)
	if d == down {
		last = &p.down
		at += r.store.turn()
	}
	*last = max(*last, at)
	r.plan(*last, passing(does), 0)
}

// dial opens a connection, or is refused.
func dial(g *programProcess, number int) *passage {
	n := g.node
	p := &passage{owner: g, number: number, asks: 1}
	p.stream = wire.NewStream(n.run.lock.Conn(n.name, n.run.reads, n.run.nextOp), func(text string) {
		n.run.add(history.Event{Kind: history.Note, Node: n.name, Text: text})
	})
	p.after(up, func() {
		if n.run.store.down || !n.link.open() {
			p.arrives(Came{What: Refused})
			return
		}
		p.open, p.at = true, n.run.store.of(n)
		p.session = p.at.sessions.Open(p.answer)
		p.arrives(Came{What: Opened})
	})
	return p
}

// arrives lets something reach the candidate.
func (p *passage) arrives(c Came) {
	c.Conn = p.number
	p.inbox = append(p.inbox, c)
	life := p.owner.node.life
	p.after(down, func() { (*landing)(p).act(life) })
}

// landing is the next thing that has come to the candidate.
type landing passage

// act implements actor.
func (l *landing) act(life uint64) {
	p := (*passage)(l)
	n := p.owner.node
	if n.life != life || n.defers(l, life) {
		return
	}
	c := p.inbox[0]
	p.inbox = p.inbox[1:]
	switch c.What {
	case Received:
		p.stream.Received(c.Data)
	case Broken:
		p.stream.End()
	}
	p.owner.awaited = max(p.owner.awaited-p.asks, 0)
	p.asks = 0
	p.owner.tell(c)
}

// send sends what the program has written.
func (p *passage) send(data []byte) {
	n := p.owner.node
	n.run.used = true
	p.asks++
	p.stream.Sent(data)
	if !n.link.passes(up) {
		return
	}
	p.after(up, func() { p.reach(data) })
}

// reach takes in what has reached the store.
func (p *passage) reach(data []byte) {
	store := p.owner.node.run.store
	switch {
	case !p.open || !p.owner.node.link.passes(up):
	case store.paused:
		store.frozen = append(store.frozen, func() { p.reach(data) })
	default:
		p.serve(data)
	}
}

// serve carries out the commands.
func (p *passage) serve(data []byte) {
	commands, err := p.asked.Read(data)
	for _, args := range commands {
		out, goesOn := p.session.Answer(args)
		p.answer(out)
		if !goesOn {
			p.shut()
			return
		}
	}
	if err != nil {
		p.shut()
	}
}

// answer sends something to the candidate. The bytes are the caller's.
func (p *passage) answer(out []byte) {
	if len(out) > 0 && p.open && p.owner.node.link.passes(down) {
		p.arrives(Came{What: Received, Data: append([]byte(nil), out...)})
	}
}

// close is the program's end of the connection.
func (p *passage) close() {
	p.stream.End()
	p.owner.awaited = max(p.owner.awaited-p.asks, 0)
	p.asks = 0
	p.after(up, p.leave)
}

// shut ends the connection from outside; the candidate will learn of it.
func (p *passage) shut() {
	if p.open {
		p.leave()
		p.arrives(Came{What: Broken})
	}
}

// vanish ends the connection with its process. What was sent arrives all the same.
func (p *passage) vanish() {
	p.stream.End()
	p.after(up, p.leave)
}

// leave makes the server forget the connection.
func (p *passage) leave() {
	if p.open {
		p.open = false
		p.session.Leave()
	}
}

// breaks ends the connections of a program that are open.
func (g *programProcess) breaks() {
	for i := range len(g.passages) {
		if p := g.passages[i+1]; p != nil {
			p.shut()
		}
	}
}
