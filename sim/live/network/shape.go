package network

import (
	"slices"
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

func (s shape) enabled() bool { return s.cut != Refused }

// toxics come in the order in which they are put on, and taken off: those of a
// cut last, since they swallow what the toxics before them still send.
func (s shape) toxics() []toxic {
	var all []toxic
	both := func(kind string, first, second int64) {
		all = append(all, toxic{kind, upstream, first, second}, toxic{kind, downstream, first, second})
	}
	if s.latency > 0 {
		both("latency", s.latency.Milliseconds(), s.jitter.Milliseconds())
	}
	if s.rate > 0 {
		both("bandwidth", int64(s.rate), 0)
	}
	switch s.cut {
	case Both:
		both("timeout", 0, 0)
	case Requests:
		all = append(all, toxic{kind: "timeout", stream: upstream})
	case Replies:
		all = append(all, toxic{kind: "timeout", stream: downstream})
	case Reset:
		both("reset_peer", 0, 0)
	}
	return all
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

func contains(all []toxic, t toxic) bool { return slices.Contains(all, t) }
