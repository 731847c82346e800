package redismodel

import "strings"

// parseLease is Lua's '^r1 (%d+) (%S+) (.*)$'.
func parseLease(value string) (token, nonce, id string, matches bool) {
	rest, matches := strings.CutPrefix(value, "r1 ")
	if !matches {
		return "", "", "", false
	}
	token, rest, matches = strings.Cut(rest, " ")
	if !matches || token == "" || !digits(token) {
		return "", "", "", false
	}
	nonce, id, matches = strings.Cut(rest, " ")
	if !matches || nonce == "" || strings.ContainsAny(nonce, "\t\n\v\f\r") {
		return "", "", "", false
	}
	return token, nonce, id, true
}

// decimal is Lua's '^[1-9]%d*$'.
func decimal(text string) bool { return text != "" && text[0] != '0' && digits(text) }

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// less compares decimal numbers of any length.
func less(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}
