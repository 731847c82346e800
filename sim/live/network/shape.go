package network

import (
	"time"

	client "github.com/Shopify/toxiproxy/v2/client"
)

// shape is everything that a link does to what passes. The zero shape does
// nothing.
type shape struct {
	cut             Cut
	latency, jitter time.Duration // whole milliseconds
	rate            int           // kilobytes a second
}

// toxic is one toxic of toxiproxy. Its toxicity is always 1: toxiproxy's
// random numbers cannot be seeded, so the schedule decides, not they. The kind
// packet_loss is never used: it takes pieces out of a stream of TCP, which no
// network does.
type toxic struct {
	kind, stream  string
	first, second int64
}

const (
	upstream   = "upstream"
	downstream = "downstream"
)

var directions = []string{upstream, downstream}

func (s shape) enabled() bool { return s.cut != Refused }

// toxics of a direction come in the order in which they are put on. They are taken off
// in the other order only: of a connection that closes meanwhile, toxiproxy keeps the
// toxic, and panics when the next one is added behind an open one that it does not know.
func (s shape) toxics(direction string) []toxic {
	var all []toxic
	if s.latency > 0 {
		all = append(all, toxic{"latency", direction, s.latency.Milliseconds(), s.jitter.Milliseconds()})
	}
	if s.rate > 0 {
		all = append(all, toxic{"bandwidth", direction, int64(s.rate), 0})
	}
	switch {
	case s.silences(direction):
		all = append(all, toxic{kind: "timeout", stream: direction})
	case s.cut == Reset:
		all = append(all, toxic{kind: "reset_peer", stream: direction})
	}
	return all
}

// silences reports whether what passes in a direction is lost, on open connections.
func (s shape) silences(direction string) bool {
	return s.cut == Both ||
		s.cut == Requests && direction == upstream ||
		s.cut == Replies && direction == downstream
}

func (t toxic) name() string { return t.kind + "_" + t.stream }

func (t toxic) attributes() client.Attributes {
	switch t.kind {
	case "latency":
		return client.Attributes{"latency": t.first, "jitter": t.second}
	case "bandwidth":
		return client.Attributes{"rate": t.first}
	}
	// timeout 0: the connection is never closed; reset_peer 0: reset at once.
	return client.Attributes{"timeout": t.first}
}
