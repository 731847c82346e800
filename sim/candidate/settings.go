package candidate

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/sim/protocol"
)

// Settings is what a candidate's environment tells it.
type Settings struct {
	Election    string
	Node        string
	RedisURL    string
	RedisURLs   []string // of all Redis, where the store is several that know nothing of each other
	ServerName  string   // of the store's TLS certificate, "" without TLS
	Via         map[string]string
	Replicas    int           // that must confirm what the production elector does
	Expire      time.Duration // that keys outlive their last use; 0: for good
	Lease       time.Duration
	Renew       time.Duration
	Retry       time.Duration
	Writes      time.Duration
	Observes    time.Duration
	Drift       float64
	ClockRate   float64
	ClockOffset time.Duration // of the wall clock
	Epoch       time.Duration // time 0 of the run on protocol.Monotonic
	PostgresURL string        // "" where there is none
	Resource    string

	RequestTimeout time.Duration // of the production elector; 0: its default
	PasswordFile   string        // with the password of RedisURL's user, for each connection; "": the URL has it
}

// FromEnvironment reads the settings of this process.
func FromEnvironment() (Settings, error) {
	env := environment{}
	s := Settings{
		Election:    os.Getenv(protocol.EnvElection),
		Node:        os.Getenv(protocol.EnvNode),
		RedisURL:    os.Getenv(protocol.EnvRedisURL),
		RedisURLs:   env.list(protocol.EnvRedisURLs),
		ServerName:  os.Getenv(protocol.EnvServerName),
		Via:         env.pairs(protocol.EnvVia),
		Replicas:    int(env.number(protocol.EnvReplicas, 0)),
		Expire:      env.milliseconds(protocol.EnvExpire),
		Lease:       env.milliseconds(protocol.EnvLease),
		Renew:       env.milliseconds(protocol.EnvRenew),
		Retry:       env.milliseconds(protocol.EnvRetry),
		Writes:      env.milliseconds(protocol.EnvWrites),
		Observes:    env.milliseconds(protocol.EnvObserves),
		Drift:       env.number(protocol.EnvDrift, 0.01),
		ClockRate:   env.number(protocol.EnvClockRate, 1),
		ClockOffset: env.milliseconds(protocol.EnvClockOffset),
		Epoch:       env.nanoseconds(protocol.EnvEpoch),
		PostgresURL: os.Getenv(protocol.EnvPostgresURL),
		Resource:    os.Getenv(protocol.EnvResource),

		RequestTimeout: env.milliseconds(protocol.EnvRequestTimeout),
		PasswordFile:   os.Getenv(protocol.EnvPasswordFile),
	}
	if s.Election == "" || s.Node == "" || s.RedisURL == "" {
		return s, fmt.Errorf("candidate: %s, %s and %s must be set: start it through the harness",
			protocol.EnvElection, protocol.EnvNode, protocol.EnvRedisURL)
	}
	return s, env.err
}

// environment reads variables and keeps the first error.
type environment struct{ err error }

func (e *environment) number(name string, otherwise float64) float64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("candidate: %s=%q is no number", name, text)
	}
	return value
}

// list reads "a,b,c".
func (e *environment) list(name string) []string {
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// pairs reads "a=b,c=d".
func (e *environment) pairs(name string) map[string]string {
	var all map[string]string
	for _, pair := range e.list(name) {
		if pair == "" {
			continue
		}
		from, to, found := strings.Cut(pair, "=")
		if !found && e.err == nil {
			e.err = fmt.Errorf("candidate: %s=%q: %q is no pair of addresses", name, os.Getenv(name), pair)
		}
		if all == nil {
			all = map[string]string{}
		}
		all[from] = to
	}
	return all
}

func (e *environment) milliseconds(name string) time.Duration {
	return time.Duration(e.number(name, 0) * float64(time.Millisecond))
}

func (e *environment) nanoseconds(name string) time.Duration {
	text := os.Getenv(name)
	value, err := strconv.ParseInt(text, 10, 64)
	if text != "" && err != nil && e.err == nil {
		e.err = fmt.Errorf("candidate: %s=%q is no number", name, text)
	}
	return time.Duration(value)
}
