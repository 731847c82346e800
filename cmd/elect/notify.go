package main

import (
	"net"
	"strings"
	"time"
)

// notifySocket is where systemd listens, for services of Type=notify.
const notifySocket = "NOTIFY_SOCKET"

// notifier tells the service manager how it goes. The zero value tells nobody.
type notifier struct{ socket string }

func notifierOf(environ []string) notifier {
	for _, pair := range environ {
		if socket, ok := strings.CutPrefix(pair, notifySocket+"="); ok && socket != "" {
			return notifier{socket}
		}
	}
	return notifier{}
}

// send sends one message of sd_notify(3). That nobody listens is no reason to
// do anything else.
func (n notifier) send(lines ...string) {
	if n.socket == "" {
		return
	}
	name := n.socket
	if strings.HasPrefix(name, "@") { // Linux's abstract namespace
		name = "\x00" + name[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a manager that does not read holds up nobody
	_, _ = conn.Write([]byte(strings.Join(lines, "\n")))
	_ = conn.Close() // what was sent was sent
}
