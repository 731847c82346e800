package redismodel

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// luaMatch is string.match for the patterns that scripts mostly have. The
// interpreter's own compiles a pattern anew for each call, which is a third of
// what a script takes; it is left with what is rare or wrong here.
//
// It matches as Lua 5.1 does (lstrlib.c): by backtracking, and items of a
// pattern take as much as they can first.
func (in *Interpreter) luaMatch(own lua.LGFunction) lua.LGFunction {
	known := map[string]bool{} // patterns, and whether they are common ones
	return func(l *lua.LState) int {
		src, isText := l.Get(1).(lua.LString)
		pattern, isText2 := l.Get(2).(lua.LString)
		if !isText || !isText2 || l.GetTop() != 2 {
			return own(l)
		}
		common, seen := known[string(pattern)]
		if !seen {
			if len(known) >= maxPatterns {
				clear(known)
			}
			common = commonPattern(string(pattern))
			known[string(pattern)] = common
		}
		if !common {
			return own(l)
		}
		return in.matcher.push(l, string(src), string(pattern))
	}
}

const (
	maxPatterns = 256 // that are remembered
	maxCaptures = 8   // of a common pattern
)

// commonPattern reports whether a pattern is made of characters, classes, sets,
// repetitions, and captures that are neither empty nor within each other.
func commonPattern(p string) bool {
	open, captures := false, 0
	p = strings.TrimPrefix(p, "^")
	for i := 0; i < len(p); {
		switch p[i] {
		case 0:
			return false // it ends the pattern there
		case '(':
			if captures++; open || captures > maxCaptures || strings.HasPrefix(p[i:], "()") {
				return false
			}
			open = true
			i++
			continue
		case ')':
			if !open {
				return false
			}
			open = false
			i++
			continue
		}
		end := itemEnd(p, i)
		if end < 0 {
			return false
		}
		if i = end; i < len(p) && strings.IndexByte("*+-?", p[i]) >= 0 {
			i++
		}
	}
	return !open
}

// itemEnd is where the item of a pattern ends that begins at i: a character, a
// class or a set. It is -1 for what is rare or wrong.
func itemEnd(p string, i int) int {
	switch p[i] {
	case '%':
		if i+1 == len(p) || strings.IndexByte("bf0123456789", p[i+1]) >= 0 {
			return -1
		}
		return i + 2
	case '[':
		i++
		if i < len(p) && p[i] == '^' {
			i++
		}
		for first := i; i < len(p); i++ {
			switch {
			case p[i] == '%':
				i++
			case p[i] == ']' && i > first:
				return i + 1
			}
		}
		return -1
	default:
		return i + 1
	}
}

// matcher matches one text at a time.
type matcher struct {
	src, pattern string
	level        int
	captures     [maxCaptures]struct{ from, to int }
}

// push matches, and pushes the captures, or what matched if there are none, or
// nil.
func (m *matcher) push(l *lua.LState, src, pattern string) int {
	anchored := strings.HasPrefix(pattern, "^")
	m.src, m.pattern = src, strings.TrimPrefix(pattern, "^")
	for from := 0; from <= len(src); from++ {
		m.level = 0
		if to := m.match(from, 0); to >= 0 {
			if m.level == 0 {
				l.Push(lua.LString(src[from:to]))
				return 1
			}
			for _, c := range m.captures[:m.level] {
				l.Push(lua.LString(src[c.from:c.to]))
			}
			return m.level
		}
		if anchored {
			break
		}
	}
	l.Push(lua.LNil)
	return 1
}

// match is where the text that matches the pattern from p on ends, if it begins
// at s; -1 if none does.
func (m *matcher) match(s, p int) int {
	for p < len(m.pattern) {
		switch {
		case m.pattern[p] == '(':
			m.captures[m.level].from = s
			m.level++
			end := m.match(s, p+1)
			if end < 0 {
				m.level--
			}
			return end
		case m.pattern[p] == ')':
			m.captures[m.level-1].to = s
			p++
			continue
		case m.pattern[p] == '$' && p+1 == len(m.pattern):
			if s == len(m.src) {
				return s
			}
			return -1
		}
		next := itemEnd(m.pattern, p)
		most, least := 1, 1
		lazy, repeated := false, next
		if next < len(m.pattern) {
			repeated++
			switch m.pattern[next] {
			case '?':
				least = 0
			case '*':
				most, least = len(m.src), 0
			case '+':
				most = len(m.src)
			case '-':
				most, least, lazy = len(m.src), 0, true
			default:
				repeated--
			}
		}
		if most == 1 && least == 1 {
			if s == len(m.src) || !m.fits(m.src[s], p, next) {
				return -1
			}
			s, p = s+1, repeated
			continue
		}
		return m.repeat(s, p, next, repeated, least, most, lazy)
	}
	return s
}

// repeat matches an item that may be there several times, and what follows it.
func (m *matcher) repeat(s, p, next, rest, least, most int, lazy bool) int {
	n := 0
	fits := func() bool { return n < most && s+n < len(m.src) && m.fits(m.src[s+n], p, next) }
	if lazy {
		for {
			if end := m.match(s+n, rest); end >= 0 {
				return end
			}
			if !fits() {
				return -1
			}
			n++
		}
	}
	for fits() {
		n++
	}
	for ; n >= least; n-- {
		if end := m.match(s+n, rest); end >= 0 {
			return end
		}
	}
	return -1
}

// fits reports whether a character is one that the item of the pattern from p to
// next stands for.
func (m *matcher) fits(c byte, p, next int) bool {
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return inLuaSet(c, m.pattern[p+1:next-1])
	default:
		return c == m.pattern[p]
	}
}

// inLuaSet reports whether a set has the character: what stands between brackets.
func inLuaSet(c byte, set string) bool {
	without := strings.HasPrefix(set, "^")
	if without {
		set = set[1:]
	}
	for i := 0; i < len(set); i++ {
		switch {
		case set[i] == '%' && i+1 < len(set):
			if i++; inClass(c, set[i]) {
				return !without
			}
		case i+2 < len(set) && set[i+1] == '-':
			if set[i] <= c && c <= set[i+2] {
				return !without
			}
			i += 2
		case set[i] == c:
			return !without
		}
	}
	return without
}

// inClass reports whether a class has the character: %d and its kin, whose capital
// letters stand for all others, or the character itself.
func inClass(c, class byte) bool {
	var is bool
	lower, digit := c|0x20, c >= '0' && c <= '9'
	letter, printable := lower >= 'a' && lower <= 'z', c > ' ' && c < 0x7f
	switch class | 0x20 {
	case 'a':
		is = letter
	case 'c':
		is = c < ' ' || c == 0x7f
	case 'd':
		is = digit
	case 'l':
		is = letter && c == lower
	case 'p':
		is = printable && !letter && !digit
	case 's':
		is = c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		is = letter && c != lower
	case 'w':
		is = letter || digit
	case 'x':
		is = digit || lower >= 'a' && lower <= 'f'
	case 'z':
		is = c == 0
	default:
		return c == class
	}
	return is != (class >= 'A' && class <= 'Z')
}
