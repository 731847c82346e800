package main

import (
	"net"
	"time"
)

// far is a connection to a server that every byte needs some time to reach, and
// to come back from. What is sent together arrives together; nothing waits for
// what was sent before.
func far(conn net.Conn, way time.Duration) net.Conn {
	near, other := net.Pipe()
	carry(other, conn, way)
	carry(conn, other, way)
	return near
}

// parcel is what was read at once.
type parcel struct {
	data []byte
	due  time.Time
}

// carry brings what comes from one connection to the other, later. At the end of
// either both are closed.
func carry(from, to net.Conn, way time.Duration) {
	parcels := make(chan parcel, 1024)
	go func() {
		defer close(parcels)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				parcels <- parcel{buffer[:n], time.Now().Add(way)}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		failed := false
		for p := range parcels {
			if failed {
				continue
			}
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				failed = true
				_ = from.Close() // ends the reading
			}
		}
		_ = from.Close()
		_ = to.Close()
	}()
}
