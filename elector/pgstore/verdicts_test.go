package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recount-io/recount/elector/store"
)

// Which errors end an election, and which are tried again, by the server's
// codes; and what to do stands in those that end it.
func TestVerdicts(t *testing.T) {
	for code, fatal := range map[string]bool{
		"28P01": true, "28000": true, // password, user
		"42501": true, "42P01": true, "42703": true, "3D000": true, "3F000": true, "42883": true, "22003": true, "42809": true,
		"57P01": false, "57P02": false, "57P03": false, "57P05": false, // shutdown, crash, start, idle
		"40001": false, "40P01": false, "55P03": false, "57014": false, // in each other's way
		"53300": false, "53100": false, "53200": false, // connections, disk, memory
		"08006": false, "08P01": false, "25006": false, "XX000": false, "58030": false,
	} {
		err := judge("renew", "billing", &pgconn.PgError{Code: code, Severity: "ERROR", Message: "so"})
		var f *store.FatalError
		if errors.As(err, &f) != fatal {
			t.Errorf("%s: %v, want fatal %v", code, err, fatal)
		}
		if fatal && f.Fix == "" {
			t.Errorf("%s does not say what to do", code)
		}
		if !strings.Contains(err.Error(), "billing") || codeOf(err) != code {
			t.Errorf("%s: %v does not say where, or what", code, err)
		}
	}
	for code, word := range map[string]string{"28P01": "password", "42501": "grant", "42P01": "Migrate", "3D000": "database"} {
		if fix := fixOf(&pgconn.PgError{Code: code}); !strings.Contains(fix, word) {
			t.Errorf("what to do about %s: %q, which does not say %q", code, fix, word)
		}
	}
	for _, passing := range []error{context.DeadlineExceeded, errors.New("EOF")} {
		var f *store.FatalError
		if err := judge("renew", "billing", passing); errors.As(err, &f) || !errors.Is(err, passing) {
			t.Errorf("%v became %v", passing, err)
		}
	}
	inner := &store.FatalError{Err: errors.New("x"), Fix: "do y"}
	var f *store.FatalError
	if err := judge("renew", "billing", fmt.Errorf("w: %w", inner)); !errors.As(err, &f) || f.Fix != "do y" {
		t.Errorf("a fatal error became %v", err)
	}
	if err := judge("renew", "billing", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// A server that takes no writes, as during a failover, is tried again, and the
// message says what it is if it stays so.
func TestReadOnlyServerPasses(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	d.do(t, "alter database "+d.name+" set default_transaction_read_only = on")
	s.pool.Reset()
	_, err := s.Acquire(d.ctx, attemptOf("n1", "1"))
	var fatal *store.FatalError
	if err == nil || errors.As(err, &fatal) || !strings.Contains(err.Error(), "target_session_attrs") {
		t.Errorf("a read-only server: %v", err)
	}
}
