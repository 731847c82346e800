package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field is one setting: its name, what it is for, and how it is read and shown.
type field struct {
	name   string // as in a flag
	config string // the field of elector.Config, if it is one
	kind   Kind
	usage  string
	set    func(s *Settings, values []string) error // at least one value; the last one counts unless there may be many
	show   func(s *Settings) string                 // empty if it is not set
}

// Kind says what a setting's values look like.
type Kind int

// The kinds of settings.
const (
	Text Kind = iota
	Duration
	Number
	Truth // true or false
	Texts // any number of texts
)

// Setting describes one setting, for those who offer it as a flag.
type Setting struct {
	Name  string // of the flag; Variable and Key are made from it
	Kind  Kind
	Usage string
}

// Variable is the setting's name in the environment.
func (s Setting) Variable() string { return variable(s.Name) }

// Key is the setting's name in a file.
func (s Setting) Key() string { return key(s.Name) }

// All lists all settings.
func All() []Setting {
	list := make([]Setting, 0, len(fields))
	for _, f := range fields {
		list = append(list, Setting{f.name, f.kind, f.usage})
	}
	return list
}

var fields = []field{
	text("name", "Election", "name of the election: what is to be led", func(s *Settings) *string { return &s.Election }),
	text("id", "ID", "name of this candidate (default: the host's name); a random part is added", func(s *Settings) *string { return &s.ID }),
	{
		name: "store", kind: Texts,
		usage: "URL of the store: redis://, rediss:// (TLS), unix:// or postgres://; several times for a quorum; ${NAME} in it is an environment variable, ${file:PATH} a file",
		set:   func(s *Settings, values []string) error { s.Store = values; return nil },
		show:  func(s *Settings) string { return Redact(s.Store...) },
	},
	text("prefix", "", "what every key in Redis begins with (default recount:)", func(s *Settings) *string { return &s.Prefix }),
	text("tls-ca", "", "file with the certificates of the authorities that Redis is trusted by", func(s *Settings) *string { return &s.TLS.CA }),
	text("tls-cert", "", "file with the certificate that Redis asks for", func(s *Settings) *string { return &s.TLS.Cert }),
	text("tls-key", "", "file with the key of that certificate", func(s *Settings) *string { return &s.TLS.Key }),
	text("tls-server-name", "", "name that the certificate of Redis must have, in place of the host in the URL", func(s *Settings) *string { return &s.TLS.ServerName }),
	text("tls-min", "", "oldest version of TLS: 1.2 or 1.3 (default 1.2)", func(s *Settings) *string { return &s.TLS.Min }),
	text("table", "", "table of the leases in PostgreSQL (default recount_lease)", func(s *Settings) *string { return &s.Table }),
	number("replicas", "", "how many replicas of Redis must confirm each grant and renewal (WAIT)", func(s *Settings) *int { return &s.Replicas }),
	truth("fsynced", "", "Redis must have each grant and renewal on its own disk (WAITAOF, Redis 7.2)", func(s *Settings) *bool { return &s.Fsynced }),
	number("fsynced-replicas", "", "how many replicas of Redis must have each grant and renewal on disk (WAITAOF)", func(s *Settings) *int { return &s.FsyncedReplicas }),
	duration("confirm", "", "how long to wait for those confirmations (default 100ms, with replicas' disks 2s)", func(s *Settings) *time.Duration { return &s.Confirm }),
	truth("unprotected", "", "let a Redis that may have lost data grant leases at once", func(s *Settings) *bool { return &s.Unprotected }),
	text("preset", "", "durations that fit together, for those that are not given: fast, balanced or quiet", func(s *Settings) *string { return &s.Preset }),
	duration("lease", "Lease", "how long the store keeps a lease that is not renewed", func(s *Settings) *time.Duration { return &s.Lease }),
	duration("renew", "Renew", "from one renewal to the next", func(s *Settings) *time.Duration { return &s.Renew }),
	duration("retry", "Retry", "pause after a request that failed", func(s *Settings) *time.Duration { return &s.Retry }),
	duration("request-timeout", "RequestTimeout", "after which a request to the store is given up", func(s *Settings) *time.Duration { return &s.RequestTimeout }),
	duration("drain-timeout", "DrainTimeout", "how long a leader that resigns keeps the lease for its work to end", func(s *Settings) *time.Duration { return &s.DrainTimeout }),
	{
		name: "drift", config: "Drift", kind: Number,
		usage: "by how much clock rates may differ, as a share of time (1 % is 0.01)",
		set: func(s *Settings, values []string) (err error) {
			s.Drift, err = strconv.ParseFloat(last(values), 64)
			if err != nil {
				return fmt.Errorf("is %q; it must be a number, such as 0.01 for 1 %%", last(values))
			}
			return nil
		},
		show: func(s *Settings) string {
			if s.Drift == 0 {
				return ""
			}
			return strconv.FormatFloat(s.Drift, 'g', -1, 64)
		},
	},
	number("priority", "Priority", "how much this candidate is preferred, with --failback", func(s *Settings) *int { return &s.Priority }),
	duration("failback", "Failback", "how often a leader looks for a candidate of higher priority, to hand over to it (default never)", func(s *Settings) *time.Duration { return &s.Failback }),
	text("value", "Value", "what the leader publishes, such as its address: status, watch and other programs tell it", func(s *Settings) *string { return &s.Value }),
	truth("once", "Once", "compete for one term only", func(s *Settings) *bool { return &s.Once }),
}

func text(name, config, usage string, at func(*Settings) *string) field {
	return field{
		name: name, config: config, kind: Text, usage: usage,
		set:  func(s *Settings, values []string) error { *at(s) = last(values); return nil },
		show: func(s *Settings) string { return *at(s) },
	}
}

func duration(name, config, usage string, at func(*Settings) *time.Duration) field {
	return field{
		name: name, config: config, kind: Duration, usage: usage,
		set: func(s *Settings, values []string) error {
			d, err := time.ParseDuration(last(values))
			if err != nil || d <= 0 {
				return fmt.Errorf("is %q; it must be a time above zero with its unit, such as 1500ms, 15s or 2m", last(values))
			}
			*at(s) = d
			return nil
		},
		show: func(s *Settings) string {
			if *at(s) == 0 {
				return ""
			}
			return at(s).String()
		},
	}
}

func number(name, config, usage string, at func(*Settings) *int) field {
	return field{
		name: name, config: config, kind: Number, usage: usage,
		set: func(s *Settings, values []string) (err error) {
			if *at(s), err = strconv.Atoi(last(values)); err != nil {
				return fmt.Errorf("is %q; it must be a whole number, such as 1", last(values))
			}
			return nil
		},
		show: func(s *Settings) string {
			if *at(s) == 0 {
				return ""
			}
			return strconv.Itoa(*at(s))
		},
	}
}

func truth(name, config, usage string, at func(*Settings) *bool) field {
	return field{
		name: name, config: config, kind: Truth, usage: usage,
		set: func(s *Settings, values []string) (err error) {
			if *at(s), err = strconv.ParseBool(last(values)); err != nil {
				return fmt.Errorf("is %q; it must be true or false", last(values))
			}
			return nil
		},
		show: func(s *Settings) string {
			if !*at(s) {
				return ""
			}
			return "true"
		},
	}
}

func last(values []string) string { return values[len(values)-1] }

// fieldOf finds the setting of a field of elector.Config.
func fieldOf(config string) *field {
	return find(func(f *field) bool { return f.config == config })
}

func find(match func(*field) bool) *field {
	for i := range fields {
		if match(&fields[i]) {
			return &fields[i]
		}
	}
	return nil
}

// envPrefix begins the name of every setting in the environment.
const envPrefix = "ELECT_"

func variable(name string) string {
	return envPrefix + strings.ToUpper(key(name))
}

func key(name string) string { return strings.ReplaceAll(name, "-", "_") }
