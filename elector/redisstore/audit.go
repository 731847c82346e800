package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// AuditEntry is what Redis itself recorded about one call. See Options.Audit.
type AuditEntry struct {
	Time    time.Time // of the server's wall clock, in whole microseconds
	Call    string    // "acquire", "renew" or "release"
	Nonce   string
	Request uint64 // store.Attempt.Request or store.Lease.Request
	// Token is the lease's: of an acquire that was refused the holder's (0 if
	// no elector wrote the lease), of a renew or release the caller's.
	Token   uint64
	Applied bool // did the call take effect?
}

// ParseAudit reads one line of an audit list, as the scripts write it: server
// time in microseconds, call, nonce, request number, token, applied (0 or 1),
// separated by spaces.
func ParseAudit(line string) (AuditEntry, error) {
	fields := strings.Split(line, " ")
	if len(fields) != 6 {
		return AuditEntry{}, auditError(line, "it has %d fields, not 6", len(fields))
	}
	micros, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return AuditEntry{}, auditError(line, "the time %q is no number", fields[0])
	}
	switch fields[1] {
	case "acquire", "renew", "release":
	default:
		return AuditEntry{}, auditError(line, "the call %q is not known", fields[1])
	}
	nonce, err := unescape(fields[2])
	if err != nil {
		return AuditEntry{}, auditError(line, "the nonce %q is not escaped properly", fields[2])
	}
	request, err := strconv.ParseUint(fields[3], 10, 64)
	if err != nil {
		return AuditEntry{}, auditError(line, "the request %q is no number", fields[3])
	}
	token, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil {
		return AuditEntry{}, auditError(line, "the token %q is no number", fields[4])
	}
	if fields[5] != "0" && fields[5] != "1" {
		return AuditEntry{}, auditError(line, "applied is %q, neither 0 nor 1", fields[5])
	}
	return AuditEntry{
		Time: time.UnixMicro(micros), Call: fields[1], Nonce: nonce,
		Request: request, Token: token, Applied: fields[5] == "1",
	}, nil
}

func auditError(line, format string, args ...any) error {
	return fmt.Errorf("redisstore: audit line %.200q: "+format, append([]any{line}, args...)...)
}

// drainAtOnce is how many lines one request of DrainAudit returns at the most.
const drainAtOnce = 1000

// DrainAudit returns the entries of the election's audit so far, in the order
// in which Redis executed the calls, and removes what it returns. It removes
// nothing that it has not read: a request whose answer is lost loses no entry. If
// there is an error it comes with the entries that were read before it.
//
// Entries whose removal did not succeed come again with the next call, and so do
// those that another call reads at the same time, or that are in a replica or file
// from which they were not removed. A caller that counts entries must drop the repeated ones.
func (s *Store) DrainAudit(ctx context.Context, election string) ([]AuditEntry, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return nil, err
	}
	var entries []AuditEntry
	for had, last := 0, ""; ; {
		reply, err := s.run(ctx, &s.scripts.drain, []string{s.keys(election).audit()}, had, last, drainAtOnce)
		if err != nil {
			return entries, s.judge("drain audit of", election, err)
		}
		lines, ok := reply.([]any)
		if !ok {
			return entries, shapeError("drain audit of", election, reply)
		}
		if len(lines) == 0 {
			return entries, nil
		}
		for _, line := range lines {
			text, ok := line.(string)
			if !ok {
				return entries, shapeError("drain audit of", election, line)
			}
			entry, err := ParseAudit(text)
			if err != nil {
				return entries, err
			}
			entries, last = append(entries, entry), text
		}
		had = len(lines)
	}
}
