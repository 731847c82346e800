package settings

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
)

// Open opens the store that the settings name. Nothing is sent yet: a store
// that is away is no error here, because an elector waits for it. The caller
// closes it after the last elector has ended.
//
// A URL of Redis is one of redisstore.ParseURL.
func (s Settings) Open(context.Context) (elector.Store, io.Closer, error) {
	if len(s.Store) == 0 {
		return nil, nil, &Error{"store", "", "no store is named: give --store redis://HOST:PORT, ELECT_STORE, or store in the file"}
	}
	if len(s.Store) > 1 {
		return nil, nil, &Error{"store", s.sources["store"], fmt.Sprintf("names %d stores; give one (further nodes of a cluster or further Sentinels are written ?addr=HOST:PORT in its URL)", len(s.Store))}
	}
	return s.openRedis(s.Store[0])
}

func (s Settings) openRedis(text string) (elector.Store, io.Closer, error) {
	options, err := redisstore.ParseURL(text)
	if err != nil {
		return nil, nil, &Error{"store", s.sources["store"], err.Error()}
	}
	store, err := redisstore.New(options, redisstore.Options{Prefix: s.Prefix})
	if err != nil {
		return nil, nil, &Error{"prefix", s.sources["prefix"], err.Error()}
	}
	return store, store, nil
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts environment variables into the store's URLs.
func (s *Settings) expand(env map[string]string) error {
	var missing string
	lookup := func(name string) string {
		if env[name] == "" {
			missing = name
		}
		return env[name]
	}
	expanded := make([]string, len(s.Store))
	for i, text := range s.Store {
		if m := reference.FindStringSubmatch(text); m != nil && m[0] == text {
			expanded[i] = lookup(m[1])
			continue
		}
		expanded[i] = reference.ReplaceAllStringFunc(text, func(match string) string {
			return strings.ReplaceAll(url.QueryEscape(lookup(match[2:len(match)-1])), "+", "%20")
		})
	}
	if missing != "" {
		return &Error{"store", s.sources["store"], fmt.Sprintf("the environment variable %s that it mentions is not set: set it, or write a literal $ as %%24", missing)}
	}
	s.Store = expanded
	return nil
}

// Redact is the URLs as they may be shown: without users, passwords and
// parameters. It does not rely on their being well-formed, since a password
// with an unescaped character makes them ill-formed.
func Redact(urls ...string) string {
	var list []string
	for _, text := range urls {
		scheme, rest, ok := strings.Cut(text, "://")
		if !ok {
			list = append(list, "(no URL)")
			continue
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = "…@" + rest[at+1:]
		}
		if end := strings.IndexAny(rest, "?#"); end >= 0 {
			rest = rest[:end]
		}
		list = append(list, scheme+"://"+rest)
	}
	return strings.Join(list, " ")
}
