package redisstore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// A reply in a shape that our scripts never give comes from something that is
// no Redis, or no longer in step with the connection: the outcome is unknown.

func shapeError(call, election string, reply any) error {
	return fmt.Errorf("redisstore: %s %q: the reply has an unexpected shape: %.200q", call, election, fmt.Sprint(reply))
}

// integer reads an integer that may come as a string.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

// tokenOf reads a token, which is a string to be exact beyond 2^53, but may
// come as an integer from a server that converts.
func tokenOf(v any) (uint64, bool) {
	switch v := v.(type) {
	case string:
		n, err := strconv.ParseUint(v, 10, 64)
		return n, err == nil
	case int64:
		return uint64(v), v >= 0
	default:
		return 0, false
	}
}

// grantOf reads acquire's reply. A refused attempt with a beacon stands.
func grantOf(election string, reply any, beacon bool) (store.Grant, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) < 3 {
		return store.Grant{}, shapeError("acquire", election, reply)
	}
	applied, ok := integer(fields[0])
	token, fine := tokenOf(fields[1])
	switch {
	case ok && fine && applied == 1 && len(fields) == 5 && token > 0:
		waiters, ok := integer(fields[2])
		longest, fine := integer(fields[4])
		if ok && fine {
			return store.Grant{Token: token, Waiters: int(waiters), Longest: time.Duration(longest) * time.Millisecond}, nil
		}
	case ok && fine && applied == 0 && len(fields) == 7:
		if held := heldOf(token, fields[2:]); held != nil {
			held.Stands = beacon && token > 0 && held.Repaired == "" && held.Withheld == ""
			return store.Grant{}, held
		}
	}
	return store.Grant{}, shapeError("acquire", election, reply)
}

// What acquire remarks on a refusal. See its script.
const (
	remarkRepaired = 1
	remarkLost     = 2
	remarkEarly    = 3
	remarkReserved = 4
	remarkUnequal  = 5
	remarkDoubt    = 6
)

// heldOf reads id, remaining, waiters, remark, longest.
func heldOf(token uint64, fields []any) *store.HeldError {
	holder, ok := fields[0].(string)
	remaining, ok2 := integer(fields[1])
	waiters, ok3 := integer(fields[2])
	remark, ok4 := integer(fields[3])
	longest, ok5 := integer(fields[4])
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 {
		return nil
	}
	held := heldFor(remainingOf(remaining), remark)
	held.Holder, held.Token, held.Waiters = holder, token, int(waiters)
	held.Longest = time.Duration(longest) * time.Millisecond
	return held
}

// heldFor says why the lease is not granted for so long.
func heldFor(remaining time.Duration, remark int64) *store.HeldError {
	held := &store.HeldError{Remaining: remaining}
	switch remark {
	case remarkRepaired:
		held.Repaired = fmt.Sprintf("the lease had no time to live, or more than any lease has, and would have blocked the election for as long; it now ends in %v unless it is renewed", held.Remaining)
	case remarkLost:
		held.Withheld = fmt.Sprintf("this Redis was started, promoted or flushed, or lost its witness key, less than one lease ago. A lease that it has forgotten may last for another %v. Nothing to do: it happens after each start of the server", remaining)
	case remarkEarly:
		held.Withheld = fmt.Sprintf("the lease is gone before its time: it was deleted or evicted. Its holder may lead for another %v, so nobody is granted one before", remaining)
	case remarkReserved:
		held.Withheld = fmt.Sprintf("the last leader has handed over to another candidate, which has %v to take the lease", remaining)
	case remarkUnequal:
		held.Withheld = fmt.Sprintf("candidates that were heard of lately have longer leases than this one counts on, which it does from now on, or count on shorter ones than its own, and may do so for another %v: if the server forgot such a lease, they would not wait for long enough. To change Lease without a pause, give all candidates the longer one as LongestLease first", remaining)
	case remarkDoubt:
		held.Withheld = fmt.Sprintf("this Redis may have forgotten a lease: a candidate knows a larger token than the server has counted, so older data was restored; or a candidate may not use INFO, as others may, and cannot see which server this is. Such a lease may last for another %v", remaining)
	}
	return held
}

// remainingOf rounds up to the millisecond in which Redis still honours a key
// whose remaining time it gives as 0.
func remainingOf(ms int64) time.Duration {
	return max(time.Duration(ms)*time.Millisecond, time.Millisecond)
}

// leaderOf reads leader's reply, and retire's, which says nothing of a value.
func leaderOf(call, election string, reply any) (store.Leader, error) {
	fields, ok := reply.([]any)
	if !ok || (len(fields) != 0 && len(fields) != 3 && len(fields) != 5) {
		return store.Leader{}, shapeError(call, election, reply)
	}
	if len(fields) == 0 {
		return store.Leader{}, nil
	}
	token, ok := tokenOf(fields[0])
	id, ok2 := fields[1].(string)
	remaining, ok3 := integer(fields[2])
	if !ok || !ok2 || !ok3 {
		return store.Leader{}, shapeError(call, election, reply)
	}
	l := store.Leader{ID: id, Token: token}
	if len(fields) == 5 {
		value, ok := fields[3].(string)
		version, ok2 := tokenOf(fields[4])
		if !ok || !ok2 {
			return store.Leader{}, shapeError(call, election, reply)
		}
		l.Value, l.Version = value, version
	}
	if remaining >= 0 {
		l.Remaining = remainingOf(remaining)
	}
	return l, nil
}

// appliedOf reads renew's and release's reply.
func appliedOf(call, election string, reply any) error {
	switch applied, ok := integer(reply); {
	case ok && applied == 1:
		return nil
	case ok && applied == 0:
		return store.ErrNotHeld
	default:
		return shapeError(call, election, reply)
	}
}
