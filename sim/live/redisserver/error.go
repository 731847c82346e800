package redisserver

import (
	"strings"
)

// Kind says what is wrong.
type Kind string

// The kinds of Error. All mean wrong use or a machine that lacks something, not
// a failure of the harness.
const (
	BadSpec     Kind = "spec"        // the spec names no provider, or its URL cannot be read
	Unreachable Kind = "unreachable" // no Redis answers at the address
	Credentials Kind = "credentials" // the password or the user is wrong, missing, or has too few rights
	TLSMismatch Kind = "tls"         // TLS on one side only, or a certificate that is not trusted
	Missing     Kind = "missing"     // there is no redis-server, no Docker, or no image of Redis
	Shared      Kind = "shared"      // a Redis that is given by URL cannot be disturbed
	Unsuitable  Kind = "unsuitable"  // a Redis answers, and a run cannot be carried out there
)

// Error is a mistake that a person can mend: its text is one line that says
// what is wrong and what to do, and contains no password.
type Error struct {
	Kind Kind
	Text string
	Err  error // the cause, if there is one; not for people
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// errShared answers every attempt to disturb a server that is not private.
func errShared(act string) error {
	return &Error{Kind: Shared, Text: "only a private Redis may be " + act + ", not one given by URL; use --redis process, docker or embedded for this scenario"}
}

// safe is a spec that may be shown: a mistyped URL may have a password in it.
func safe(spec string) string {
	if at := strings.LastIndexByte(spec, '@'); at >= 0 {
		return "…" + spec[at:]
	}
	return spec
}
