package settings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// Settings are how one candidate competes, and on which store. A zero field is
// left to the preset and the defaults of elector.Config.
type Settings struct {
	Election string // the name of what is to be led
	ID       string // the human part of the candidate's identity; the host's name by default

	Store  []string // the store's URL; see Open
	TLS    TLS      // of connections to Redis
	Prefix string   // of all keys in Redis
	Table  string   // of the leases in PostgreSQL

	Replicas        int           // how many replicas of Redis must confirm each grant and renewal
	Fsynced         bool          // Redis itself must have it on disk
	FsyncedReplicas int           // how many replicas must have it on disk
	Confirm         time.Duration // how long the confirmations are waited for
	Unprotected     bool          // no protection against a Redis that has lost data

	Preset string // fast, balanced or quiet: durations for what is not set below

	Lease          time.Duration
	Renew          time.Duration
	Retry          time.Duration
	RequestTimeout time.Duration
	DrainTimeout   time.Duration
	Drift          float64
	Priority       int
	Value          string
	Failback       time.Duration
	Once           bool // one term at most

	sources   map[string]string        // where a setting comes from, by its name
	renewed   []func() (string, error) // the store's URLs as they are now, where they mention files; nil: as they were
	mentioned []string                 // the environment variables in the store's URLs
	bare      bool                     // a password stood in one of them
}

// TLS is how connections to Redis are secured, where the URL does not say so itself. Files
// are read again for each new connection.
type TLS struct {
	CA         string // file of the authorities to trust
	Cert, Key  string // files of the client's own certificate
	ServerName string // that the server's certificate must have
	Min        string // the oldest version: 1.2 or 1.3
}

// parameters are those of a URL of Redis.
func (t TLS) parameters() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"ca": t.CA, "cert": t.Cert, "key": t.Key, "server_name": t.ServerName, "tls_min": t.Min} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// Error is a setting that cannot be used.
type Error struct {
	Setting string // its name, as in a flag: "request-timeout"
	Source  string // where it stands; empty if it stands nowhere
	Text    string // what is wrong with it, and how to mend it
}

func (e *Error) Error() string {
	if e.Source == "" {
		return e.Setting + ": " + e.Text
	}
	return fmt.Sprintf("%s (from %s): %s", e.Setting, e.Source, e.Text)
}

// Config is the elector's part of the settings. Callbacks, clock and logger are
// the caller's to add.
func (s Settings) Config() elector.Config {
	s = s.withPreset()
	return elector.Config{
		Election: s.Election, ID: s.ID,
		Lease: s.Lease, Renew: s.Renew, Retry: s.Retry,
		RequestTimeout: s.RequestTimeout, DrainTimeout: s.DrainTimeout,
		Drift: s.Drift, Priority: s.Priority, Failback: s.Failback, Once: s.Once, Value: s.Value,
	}
}

// Validate judges the settings of the elector and how they relate to each
// other. It reaches out to nothing; Open does. Its error is an *Error that says
// where each of the values in question comes from.
func (s Settings) Validate() error {
	if s.Election == "" {
		return &Error{"name", "", "no election is named: give --name, ELECT_NAME, or name in the file"}
	}
	if s.Preset != "" && presets[s.Preset] == nil {
		return &Error{"preset", s.sources["preset"], fmt.Sprintf("is %q; it must be fast, balanced or quiet", s.Preset)}
	}
	_, err := elector.New(nowhere{}, s.Config())
	return s.Explain(err)
}

// Explain makes an error of elector.New about these settings an *Error, if it is about one
// of them: about the times that do not suit the store which Open has opened, say.
func (s Settings) Explain(err error) error {
	var wrong *elector.ConfigError
	if !errors.As(err, &wrong) {
		return err
	}
	f := fieldOf(wrong.Field)
	if f == nil {
		return err
	}
	s = s.withPreset() // for the places where values come from
	return &Error{f.name, s.sources[f.name], wrong.Rule + s.origins(f.name, wrong.Rule)}
}

// origins says where the other settings that a rule mentions come from.
func (s Settings) origins(but, rule string) string {
	var list []string
	for _, f := range fields {
		named := f.config != "" && strings.Contains(rule, f.config) || f.name == "confirm" && strings.Contains(rule, "Options.Confirm")
		if source := s.sources[f.name]; source != "" && f.name != but && named {
			list = append(list, f.name+" is from "+source)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// Source says where the setting of that name comes from, such as "ELECT_LEASE"
// or "elect.yaml line 3"; empty if it is left to the defaults.
func (s Settings) Source(name string) string { return s.sources[name] }

// String lists what is set, and where it comes from. It shows no password.
func (s Settings) String() string {
	var list []string
	for _, f := range fields {
		text := f.show(&s)
		if text == "" {
			continue
		}
		if source := s.sources[f.name]; source != "" {
			text += " (from " + source + ")"
		}
		list = append(list, f.name+" "+text)
	}
	return strings.Join(list, ", ")
}

// GoString is String: %#v must not show passwords either.
func (s Settings) GoString() string { return "settings.Settings{" + s.String() + "}" }

// from notes where a setting comes from.
func (s *Settings) from(name, source string) {
	s.sources = maps.Clone(s.sources) // copies of Settings share the map
	if s.sources == nil {
		s.sources = map[string]string{}
	}
	s.sources[name] = source
}

// nowhere is a store for validation: no elector that has it ever runs.
type nowhere struct {
	elector.Store
	store.CandidateLister
}

// names are the settings' names, sorted.
func names() []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	slices.Sort(list)
	return list
}
