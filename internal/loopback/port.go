package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
)

// ErrNoPort says that no free port was found.
var ErrNoPort = errors.New("loopback: no free port between 20000 and 30000 on 127.0.0.1; end some of the programs that listen there")

// Ports below this range belong to well-known services, ports above it to the
// kernel, which takes them for outgoing connections (from 32768 on Linux, from
// 49152 on macOS). A server that is killed and has to come back at the same
// address must not have a port of that kind: one of the connections that fail
// to reach it may be given the port, and then the server cannot bind.
const (
	lowest = 20000
	count  = 10000

	// remembered is how many ports are not given again.
	remembered = count / 2
)

// given are the last ports that FreePort returned, in a ring.
var given struct {
	sync.Mutex
	ports [remembered]int
	next  int
}

// Candidate is a random port of the range, not looked at further.
func Candidate() int {
	return lowest + rand.IntN(count)
}

// FreePort is a port on which nobody listened a moment ago. Somebody may have
// taken it since: a caller that cannot bind asks again. This process does not get
// the port again soon, so a server that is killed can come back to it.
func FreePort() (int, error) {
	given.Lock()
	defer given.Unlock()
	for range 200 {
		port := Candidate()
		if slices.Contains(given.ports[:], port) {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			continue
		}
		given.ports[given.next] = port
		given.next = (given.next + 1) % remembered
		return port, nil
	}
	return 0, ErrNoPort
}
