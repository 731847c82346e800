package settings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/pgstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
)

// Open opens the store that the settings name. Nothing is sent yet: a store
// that is away is no error here, because an elector waits for it. The caller
// closes it after the last elector has ended. Its error is an *Error.
//
// A URL of Redis is one of redisstore.ParseURL. One of PostgreSQL begins with
// postgres:// (leases are rows), or with postgres+session:// (they are tied to
// a session, besides; see package pgstore), and the tables must have been
// created. Several URLs, an odd number of them, are a quorum of independent
// stores, which all candidates must name; see package quorumstore.
func (s Settings) Open(ctx context.Context) (elector.Store, io.Closer, error) {
	switch n := len(s.Store); {
	case n == 0:
		return nil, nil, &Error{"store", "", "no store is named: give --store redis://HOST:PORT, ELECT_STORE, or store in the file"}
	case n%2 == 0:
		return nil, nil, s.wrong("store", fmt.Sprintf("names %d stores; several are a quorum of independent ones, so give an odd number of them (further nodes of one cluster, or further Sentinels, are written ?addr=HOST:PORT in its URL)", n))
	}
	var nodes []elector.Store
	var open closers
	names := make([]string, len(s.Store))
	for i, text := range s.Store {
		node, closer, err := s.openOne(ctx, i)
		if err != nil {
			_ = open.Close() // nothing was sent to them
			return nil, nil, err
		}
		nodes, open, names[i] = append(nodes, node), append(open, closer), Redact(text)
	}
	if len(nodes) == 1 {
		return nodes[0], open, nil
	}
	quorum, err := quorumstore.New(nodes, quorumstore.Options{Names: names})
	if err != nil {
		_ = open.Close() // as above
		return nil, nil, s.wrong("store", err.Error())
	}
	return quorum, open, nil
}

// wrong is the error about a setting, wherever it stands.
func (s Settings) wrong(name, text string) error { return &Error{name, s.sources[name], text} }

// openOne opens the store of that number.
func (s Settings) openOne(ctx context.Context, i int) (elector.Store, io.Closer, error) {
	text := s.Store[i]
	scheme, rest, _ := strings.Cut(text, "://")
	switch scheme {
	case "postgres", "postgresql":
		return s.openPostgres(ctx, text, false)
	case "postgres+session":
		return s.openPostgres(ctx, "postgres://"+rest, true)
	default:
		var renewed func() (string, error)
		if i < len(s.renewed) {
			renewed = s.renewed[i]
		}
		return s.openRedis(text, renewed)
	}
}

// openRedis opens a store of Redis. Who is let in is asked anew for each connection, if
// the URL mentions files: passwords are changed.
func (s Settings) openRedis(text string, renewed func() (string, error)) (elector.Store, io.Closer, error) {
	if extra := s.TLS.parameters().Encode(); extra != "" {
		base, own, _ := strings.Cut(text, "?")
		text = base + "?" + extra + "&" + own // the last value counts
	}
	options, err := redisstore.ParseURL(text)
	if err != nil {
		return nil, nil, s.wrong("store", err.Error()+" (for PostgreSQL: postgres://…)")
	}
	if renewed != nil {
		options.CredentialsProvider = func() (user, password string) {
			if text, err := renewed(); err == nil {
				if now, err := redisstore.ParseURL(text); err == nil {
					return now.Username, now.Password
				}
			}
			return options.Username, options.Password // a file that is gone changes nothing
		}
	}
	if s.Replicas < 0 {
		return nil, nil, s.wrong("replicas", fmt.Sprintf("is %d; it must be 0 or more", s.Replicas))
	}
	if s.FsyncedReplicas < 0 {
		return nil, nil, s.wrong("fsynced-replicas", fmt.Sprintf("is %d; it must be 0 or more", s.FsyncedReplicas))
	}
	if s.FsyncedReplicas > 0 && s.Confirm > 0 && s.Confirm < 2*time.Second {
		return nil, nil, s.wrong("confirm", fmt.Sprintf("is %v; with --fsynced-replicas it must be 2s or more, because replicas tell once a second what they have on disk", s.Confirm))
	}
	if s.Confirm%time.Millisecond != 0 {
		return nil, nil, s.wrong("confirm", fmt.Sprintf("is %v; it must be a multiple of 1ms", s.Confirm))
	}
	store, err := redisstore.New(options, redisstore.Options{
		Prefix: s.Prefix, Unprotected: s.Unprotected,
		Replicas: s.Replicas, Fsynced: s.Fsynced, FsyncedReplicas: s.FsyncedReplicas, Confirm: s.Confirm,
	})
	switch {
	case err != nil && strings.Contains(err.Error(), "Confirm is"): // and the URL's read_timeout
		return nil, nil, s.wrong("confirm", err.Error())
	case err != nil:
		return nil, nil, s.wrong("prefix", err.Error())
	}
	return store, store, nil
}

func (s Settings) openPostgres(ctx context.Context, text string, session bool) (elector.Store, io.Closer, error) {
	// The driver's own words may hold parts of the URL.
	if _, err := pgxpool.ParseConfig(text); err != nil {
		return nil, nil, s.wrong("store", "the URL of PostgreSQL cannot be read: write postgres://user:password@host:port/database, with special characters of the password as %XX")
	}
	options := pgstore.Options{Table: s.Table}
	if session {
		store, err := pgstore.NewSession(text, options)
		if err != nil {
			return nil, nil, s.wrong("table", err.Error())
		}
		return store, closerFunc(store.Close), nil
	}
	pool, err := pgxpool.New(ctx, text)
	if err != nil {
		return nil, nil, s.wrong("store", "the pool of connections to PostgreSQL cannot be made: see the parameters of its URL that begin with pool_")
	}
	store, err := pgstore.New(pool, options)
	if err != nil {
		pool.Close()
		return nil, nil, s.wrong("table", err.Error())
	}
	return store, closerFunc(pool.Close), nil
}

// closerFunc closes what cannot fail at that.
type closerFunc func()

// Close is io.Closer's.
func (f closerFunc) Close() error {
	f()
	return nil
}

// closers close one after the other.
type closers []io.Closer

// Close is io.Closer's.
func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*|file:[^}]+)\}`)

// expand puts environment variables and files into the store's URLs.
func (s *Settings) expand(env map[string]string) error {
	s.bare = slices.ContainsFunc(s.Store, holdsPassword)
	l := lookup{env: env}
	expanded := make([]string, len(s.Store))
	var renewed []func() (string, error)
	for i, text := range s.Store {
		expanded[i] = l.expand(text)
		if l.again && !l.once {
			renewed = slices.Grow(renewed, len(s.Store))[:len(s.Store)]
			renewed[i] = func() (string, error) {
				now := lookup{env: env}
				text := now.expand(text)
				if now.wrong != "" {
					return "", errors.New("settings: the store's URL: " + now.wrong)
				}
				return text, nil
			}
		}
		l.again, l.once = false, false
	}
	if l.wrong != "" {
		return &Error{"store", s.sources["store"], l.wrong + ", or write a literal $ as %24"}
	}
	s.Store, s.renewed, s.mentioned = expanded, renewed, l.mentioned
	return nil
}

// lookup finds what references stand for.
type lookup struct {
	env       map[string]string
	mentioned []string // the variables
	wrong     string   // what is the matter with a reference
	again     bool     // a file was read that can be read again
	once      bool     // and one that cannot
}

// expand is the text with what its references stand for.
func (l *lookup) expand(text string) string {
	if m := reference.FindStringSubmatch(text); m != nil && m[0] == text {
		return l.value(m[1])
	}
	return reference.ReplaceAllStringFunc(text, func(match string) string {
		return strings.ReplaceAll(url.QueryEscape(l.value(match[2:len(match)-1])), "+", "%20")
	})
}

func (l *lookup) value(name string) string {
	path, ok := strings.CutPrefix(name, "file:")
	if !ok {
		l.mentioned = append(l.mentioned, name)
		if l.env[name] == "" {
			l.wrong = fmt.Sprintf("the environment variable %s that it mentions is not set: set it", name)
		}
		return l.env[name]
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		l.again = true
	} else {
		l.once = true // standard input, say
	}
	content, err := os.ReadFile(path)
	text := strings.TrimRight(string(content), "\r\n")
	switch {
	case err != nil:
		l.wrong = fmt.Sprintf("the file that it mentions cannot be read: %v: name another one", err)
	case text == "":
		l.wrong = fmt.Sprintf("the file %s that it mentions is empty: write the value there", path)
	}
	return text
}

// holdsPassword reports whether a password stands in the URL itself. It does not
// rely on the URL's being well-formed.
func holdsPassword(text string) bool {
	_, rest, _ := strings.Cut(reference.ReplaceAllString(text, ""), "://")
	user, _, ok := cutLast(rest, "@")
	if _, password, _ := strings.Cut(user, ":"); ok && password != "" {
		return true
	}
	_, query, _ := strings.Cut(rest, "?")
	for part := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(part, "="); strings.HasSuffix(name, "password") && value != "" {
			return true
		}
	}
	return false
}

func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(separator):], true
}

// HoldsPassword reports whether a password stands in a store's URL as it was given
// to Load, rather than a reference to one.
func (s Settings) HoldsPassword() bool { return s.bare }

// Variables are the names of the environment variables that carry the store's
// URL or a password of it, whether they are set or not: a caller that starts a program
// that needs neither leaves them out of its environment.
func (s Settings) Variables() []string {
	list := append([]string{variable("store")}, s.mentioned...)
	if slices.ContainsFunc(s.Store, func(text string) bool { return strings.HasPrefix(text, "postgres") }) {
		list = append(list, "PGPASSWORD") // which the driver reads
	}
	return list
}

// Redact is the URLs as they may be shown: without users, passwords and
// parameters. It does not rely on their being well-formed, since a password
// with an unescaped character makes them ill-formed.
func Redact(urls ...string) string {
	var list []string
	for _, text := range urls {
		scheme, rest, ok := strings.Cut(text, "://")
		if !ok || scheme == "" {
			list = append(list, "(no URL)")
			continue
		}
		at, end := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?#")
		switch {
		case at >= 0 && end >= 0 && end < at: // of a password, or of what stands before one in the parameters
			rest = "…"
		case at >= 0 && end >= 0:
			rest = "…" + rest[at:end]
		case at >= 0:
			rest = "…" + rest[at:]
		case end >= 0:
			rest = rest[:end]
		}
		list = append(list, scheme+"://"+rest)
	}
	return strings.Join(list, " ")
}
