package wire

// Stream reads along one connection for the caller that carries its bytes: what the client
// sends as commands, and what it gets as their replies.
type Stream struct{ reader }

// NewStream returns the reader of a connection. note gets what is worth knowing: that
// the connection is not read any more, and why.
func NewStream(reads *Conn, note func(text string)) *Stream {
	s := &Stream{reader{note: note, pairs: pairing{conn: reads}}}
	s.requests.emit, s.replies.emit = s.pairs.request, s.pairs.reply
	return s
}

// Sent takes in what the client is about to send.
func (s *Stream) Sent(data []byte) { s.sent(data) }

// Received takes in what the client is about to get.
func (s *Stream) Received(data []byte) { s.received(data) }

// End notes that nothing more is sent or received.
func (s *Stream) End() { s.end() }

// Commands are what a server reads of what clients send. The zero value is ready.
type Commands struct {
	requests

	found [][]string
}

// Read takes in more bytes and returns the commands that they complete. It fails where
// the bytes are not those of the protocol, or too many: nothing follows then.
func (c *Commands) Read(data []byte) ([][]string, error) {
	c.found = nil
	c.emit = func(r request) error {
		if r.cut {
			return errLost
		}
		c.found = append(c.found, r.args)
		return nil
	}
	err := c.feed(data)
	return c.found, err
}
