package settings

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The names that others use; see the package's comment.
const (
	podHost  = "REDIS_HOST"
	podPort  = "REDIS_PORT"
	podName  = "LEADER_KEY"
	podLease = "LEASE_TIME"
)

// readPod takes what the four names of others say about what is not set yet.
func (s *Settings) readPod(env map[string]string) error {
	host, port := env[podHost], env[podPort]
	if strings.Contains(port, "://") {
		// Kubernetes writes REDIS_PORT=tcp://10.0.0.1:6379 into every
		// container of a namespace that has a service called "redis".
		u, err := url.Parse(port)
		if err != nil || host == "" {
			port = ""
		} else {
			port = u.Port()
		}
	}
	ours := len(s.Store) == 0 && (host != "" || port != "")
	if ours {
		if err := s.podStore(host, port); err != nil {
			return err
		}
	}
	if s.Election == "" {
		switch {
		case env[podName] != "":
			s.Election = env[podName]
			s.from("name", podName)
		case ours:
			s.Election = "leader"
			s.from("name", "the default of "+podName)
		}
	}
	return s.podLease(env[podLease], ours)
}

func (s *Settings) podStore(host, port string) error {
	source := podHost
	if host == "" {
		host, source = "127.0.0.1", podPort
	}
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return &Error{"store", podPort, fmt.Sprintf("is %q; it must be a port, such as 6379", port)}
	}
	if strings.ContainsAny(host, "/@?# ") {
		return &Error{"store", podHost, "is no host's name; a whole URL belongs into ELECT_STORE"}
	}
	s.Store = []string{"redis://" + net.JoinHostPort(strings.Trim(host, "[]"), port)}
	s.from("store", source)
	return nil
}

func (s *Settings) podLease(value string, ours bool) error {
	if s.Lease != 0 {
		return nil
	}
	source := podLease
	switch {
	case value != "":
	case ours && s.Preset == "":
		value, source = "5", "the default of "+podLease
	default:
		return nil
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0 && seconds < 1e6) {
		return &Error{"lease", source, fmt.Sprintf("is %q; it must be a number of seconds above zero, such as 5: times with a unit belong into ELECT_LEASE", value)}
	}
	s.Lease = time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	s.from("lease", source)
	return nil
}
