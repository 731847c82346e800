package pgstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recount-io/recount/elector/store"
)

const (
	migrateFix = "run \"elect migrate\" or Store.Migrate once, as a role that may create tables, or the statements of docs/stores.md"
	rightsFix  = "grant the role what docs/stores.md lists: USAGE on the schema; SELECT, INSERT, UPDATE and DELETE on the three tables"
)

// remedy says what to do about an error that no repetition will change.
type remedy struct {
	code string // SQLSTATE, or how it begins
	fix  string
}

// remedies are the errors that stay. All others pass: those of a failover, a
// start or an end (57P01 to 57P03, 25006), of too many connections (53300), of
// statements that got in each other's way (40001, 40P01), of broken connections
// (class 08), and those that nobody has heard of.
// The codes are of PostgreSQL's manual, appendix A.
var remedies = []remedy{
	{"28P01", "correct the password"},
	{"28", "correct the user, or let it in by a line of the server's pg_hba.conf"},
	{"3D000", "correct the name of the database, or create it"},
	{"42501", rightsFix},
	{"42P01", migrateFix},
	{"3F000", migrateFix},
	{"42703", migrateFix + ": the table has other columns"},
	{"42P10", migrateFix + ": the table has another primary key"},
	{"42883", "use PostgreSQL 12 or newer, 14 or newer for NewSession"},
	{"42704", "use PostgreSQL 12 or newer, 14 or newer for NewSession"},
	{"22003", "set the row's token back to the highest that the protected resource has seen: the next one would be larger than any bigint"},
	{"42809", "choose another Options.Table: something else has its name"},
}

// judge says what err means for the caller: a *elector.FatalError if no
// repetition will change it, else an error that says what was attempted. The
// outcome of the call is then unknown.
func judge(call, election string, err error) error {
	if err == nil {
		return nil
	}
	var fatal *store.FatalError
	wrapped := fmt.Errorf("pgstore: %s %q: %w", call, election, err)
	if errors.As(err, &fatal) {
		return &store.FatalError{Err: wrapped, Fix: fatal.Fix}
	}
	if fix := fixOf(err); fix != "" {
		return &store.FatalError{Err: wrapped, Fix: fix}
	}
	if codeOf(err) == "25006" {
		return fmt.Errorf("%w: this server is a standby, or the session is read-only. During a failover that passes; if it stays, add target_session_attrs=read-write and all hosts to the connection string", wrapped)
	}
	return wrapped
}

func codeOf(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// fixOf is what to do about an error that stays; empty for one that may pass.
func fixOf(err error) string {
	if code := codeOf(err); code != "" {
		for _, r := range remedies {
			if strings.HasPrefix(code, r.code) {
				return r.fix
			}
		}
		return ""
	}
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		parse        *pgconn.ParseConfigError
	)
	switch {
	case errors.As(err, &parse):
		return "correct the connection string"
	case errors.As(err, &hostname):
		return "connect by a name that the server's certificate has"
	case errors.As(err, &authority):
		return "add the authority that signed the server's certificate (sslrootcert)"
	case errors.As(err, &verification):
		return "renew or correct the server's certificate"
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return "switch TLS on at the server, or choose another sslmode"
	default:
		return ""
	}
}
