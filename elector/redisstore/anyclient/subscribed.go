package anyclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// call is a call of Client.Subscribe.
type call struct {
	channel string
	cancel  context.CancelFunc
	owed    *answer // nil once the server has confirmed
}

// answer is what is owed to a request on a connection for announcements.
type answer struct {
	missing int // confirmations that it waits for
	reply   any
}

// request takes a command on a connection for announcements. Each SUBSCRIBE is a call of
// its own, also for a channel that the connection listens to: the caller wants to know
// that the subscription lives. The call before ends when that is confirmed. For the same
// reason a PING subscribes to everything anew. The caller holds mu.
func (c *conn) request(name string, words []string) {
	if c.calls == nil {
		c.calls = map[string][]*call{}
	}
	switch name {
	case "subscribe":
		for _, channel := range words {
			c.subscribe(channel, c.owe(1, []any{name, channel, int64(1)}))
		}
	case "unsubscribe":
		for _, channel := range words {
			c.end(c.calls[channel])
			delete(c.calls, channel)
			c.owe(0, []any{name, channel, int64(len(c.calls))})
		}
	case "ping":
		pong := c.owe(len(c.calls), []any{"pong", ""})
		for channel := range c.calls {
			c.subscribe(channel, pong)
		}
	default:
		c.owe(0, Error(fmt.Sprintf("ERR Can't execute '%s': only SUBSCRIBE, UNSUBSCRIBE and PING are allowed in this context", name)))
	}
	c.settle()
}

// owe notes that an answer is owed.
func (c *conn) owe(missing int, reply any) *answer {
	a := &answer{missing, reply}
	c.answers = append(c.answers, a)
	return a
}

// settle has the answers read that are complete, in the order of the requests.
func (c *conn) settle() {
	for len(c.answers) > 0 && c.answers[0].missing == 0 {
		_ = c.write(c.answers[0].reply) // it is one of ours
		c.answers = c.answers[1:]
	}
}

// subscribe begins a call. The caller holds mu.
func (c *conn) subscribe(channel string, owed *answer) {
	ctx, cancel := context.WithCancel(c.ctx)
	one := &call{channel: channel, cancel: cancel, owed: owed}
	c.calls[channel] = append(c.calls[channel], one)
	go func() {
		defer cancel()
		c.ended(one, c.listen(ctx, one))
	}()
}

func (c *conn) listen(ctx context.Context, one *call) (err error) {
	defer func() {
		if v := recover(); v != nil { // nobody else would take it: the goroutine is the connection's own
			err = fmt.Errorf("the client panicked: %v", v)
		}
	}()
	return c.client.Subscribe(ctx, one.channel, func() { c.confirmed(one) }, func(payload string) { c.heard(one, payload) })
}

// confirmed is called when the server listens for the call. Those before it end.
func (c *conn) confirmed(one *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls[one.channel]
	i := slices.Index(calls, one)
	if i < 0 {
		return
	}
	c.end(calls[:i])
	c.calls[one.channel] = slices.Clone(calls[i:])
	one.there()
	c.settle()
}

// end ends calls that are not needed any more. To the answers that wait for them they are
// confirmed: another call listens in their place, or nobody wants to know. The caller holds
// mu.
func (c *conn) end(calls []*call) {
	for _, one := range calls {
		one.there()
		one.cancel()
	}
}

// there notes that the answer to a call waits for it no more.
func (one *call) there() {
	if one.owed != nil {
		one.owed.missing--
		one.owed = nil
	}
}

// heard passes a message on.
func (c *conn) heard(one *call, payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil && slices.Contains(c.calls[one.channel], one) {
		_ = c.write([]any{"message", one.channel, payload}) // it is one of ours
	}
}

// ended is called when a call has returned. A call that was refused leaves others as they
// are; one that is lost ends the connection.
func (c *conn) ended(one *call, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls[one.channel]
	i := slices.Index(calls, one)
	if i < 0 {
		return // it was to end
	}
	said := Error("")
	if one.owed == nil || !errors.As(err, &said) {
		if err == nil {
			err = fmt.Errorf("the subscription to %s has ended", one.channel)
		}
		c.fail(broken{err})
		return
	}
	one.owed.reply = said
	one.there()
	if c.calls[one.channel] = slices.Delete(calls, i, i+1); len(calls) == 1 {
		delete(c.calls, one.channel)
	}
	c.settle()
}
