package reports

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/recount-io/recount/history"
)

const hidden = "***"

// Redact replaces the passwords in s: those in addresses
// (redis://user:secret@host becomes redis://user:***@host) and those that are
// named as such (--password secret, password=secret, requirepass secret). In
// doubt it hides too much: a password may itself hold '@', ':' or '/'.
func Redact(s string) string {
	if strings.Contains(s, "://") {
		s = redactAddresses(s)
	}
	if mayName(s) {
		// Compiled here and not once: a package-level variable would be
		// state, and a report has only a handful of such strings.
		named := regexp.MustCompile(`(?i)((?:(?:^|\s)--?[a-z-]*pass(?:word|wd)?[ =]|[a-z_-]*(?:password|passwd)["']?\s*[:=]\s*|requirepass\s+|masterauth\s+))("[^"]*"|'[^']*'|[^\s&"',;]+)`)
		s = named.ReplaceAllString(s, "${1}"+hidden)
	}
	return s
}

func mayName(s string) bool {
	low := strings.ToLower(s)
	return strings.Contains(low, "pass") || strings.Contains(low, "masterauth")
}

// redactAddresses handles every scheme://… in s.
func redactAddresses(s string) string {
	var out strings.Builder
	for {
		at := strings.Index(s, "://")
		if at < 0 {
			out.WriteString(s)
			return out.String()
		}
		at += len("://")
		out.WriteString(s[:at])
		s = s[at:]
		end := addressEnd(s)
		out.WriteString(redactAuthority(s[:end]))
		s = s[end:]
	}
}

// addressEnd is where the address at the start of s ends: at a blank or quote,
// or before the scheme of the next address.
func addressEnd(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'<>`+"`", r)
	})
	if end < 0 {
		end = len(s)
	}
	next := strings.Index(s[:end], "://")
	if next < 0 {
		return end
	}
	for next > 0 && schemeByte(s[next-1]) {
		next--
	}
	return next
}

func schemeByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+'
}

// redactAuthority hides what stands between the first ':' and the last '@'.
func redactAuthority(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	user, _, found := strings.Cut(s[:at], ":")
	if !found {
		return s
	}
	return user + ":" + hidden + s[at:]
}

// RedactHistory returns a copy of h whose texts hold no password. Events are
// copied, never changed in place.
func RedactHistory(h *history.History) *history.History {
	out := &history.History{Header: h.Header, Events: make([]history.Event, len(h.Events))}
	head := &out.Header
	head.Repro, head.Redis = Redact(head.Repro), Redact(head.Redis)
	head.Scenario, head.Subject = Redact(head.Scenario), Redact(head.Subject)
	head.Waived = nil
	for promise, why := range h.Header.Waived {
		if head.Waived == nil {
			head.Waived = make(map[string]string, len(h.Header.Waived))
		}
		head.Waived[promise] = Redact(why)
	}
	for i := range h.Events {
		e := h.Events[i]
		e.Text, e.Error, e.Evidence, e.Value = Redact(e.Text), Redact(e.Error), Redact(e.Evidence), Redact(e.Value)
		e.Params = redactParams(e.Params)
		out.Events[i] = e
	}
	return out
}

func redactParams(params map[string]any) map[string]any {
	if params == nil {
		return nil
	}
	out := make(map[string]any, len(params))
	for key, value := range params {
		switch text, isText := value.(string); {
		case mayName(key):
			out[key] = hidden
		case isText:
			out[key] = Redact(text)
		default:
			out[key] = value
		}
	}
	return out
}
