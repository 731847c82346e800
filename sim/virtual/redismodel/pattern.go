package redismodel

// matches reports whether the text matches a pattern of KEYS: * is any text, ?
// any byte, [a-c], [^a] one of a set, and \ takes the next byte as it is. It
// follows stringmatchlen of Redis, with what that makes of sets without end.
func matches(pattern, text string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for pattern != "" && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			for i := range len(text) + 1 {
				if matches(pattern, text[i:]) {
					return true
				}
			}
			return false
		case text == "":
			return false
		case pattern[0] == '?':
			pattern = pattern[1:]
		case pattern[0] == '[':
			var in bool
			if in, pattern = inSet(pattern[1:], text[0]); !in {
				return false
			}
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if pattern[0] != text[0] {
				return false
			}
			pattern = pattern[1:]
		}
		text = text[1:]
	}
	return text == ""
}

// inSet reads a set, whose [ is read already, and reports whether the byte is in
// it. rest is what follows the set.
func inSet(set string, b byte) (in bool, rest string) {
	not := set != "" && set[0] == '^'
	if not {
		set = set[1:]
	}
	for set != "" && set[0] != ']' {
		switch {
		case set[0] == '\\' && len(set) > 1:
			in = in || set[1] == b
			set = set[2:]
		case len(set) > 2 && set[1] == '-':
			low, high := min(set[0], set[2]), max(set[0], set[2])
			in = in || low <= b && b <= high
			set = set[3:]
		default:
			in = in || set[0] == b
			set = set[1:]
		}
	}
	if set != "" {
		set = set[1:]
	}
	return in != not, set
}
