// Package documents finds the commands that the documents show, so that a program's tests
// can hold each of them against the program. Only tests use it.
package documents

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Shown is a command that a document shows.
type Shown struct {
	Page string
	Args []string // without the program
}

func (s Shown) String() string { return s.Page + ": " + strings.Join(s.Args, " ") }

// skipped are folders whose pages are no documents of ours.
var skipped = []string{".git", "testdata", "node_modules", "bin", "runs", "recount-runs"}

// Commands returns the commands of the program in all Markdown pages below root: in blocks
// of code, and in code within a line.
func Commands(root fs.FS, program string) (all []Shown, err error) {
	begin := regexp.MustCompile(`^\s*(?:\$ )?(?:go run \./cmd/)?` + program + ` (.*)`)
	inline := regexp.MustCompile("`" + program + " ([^`]+)`")
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		page, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		code := false
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			} else if m := begin.FindStringSubmatch(line); code && m != nil {
				all = append(all, Shown{name, words(m[1])})
			} else if !code {
				for _, m := range inline.FindAllStringSubmatch(line, -1) {
					all = append(all, Shown{name, words(m[1])})
				}
			}
		}
		return nil
	})
	return all, err
}

// words are those of a shell's line, up to a comment or another command.
func words(line string) (all []string) {
	word, quote, begun := "", rune(0), false
	end := func() {
		if begun {
			all = append(all, word)
		}
		word, begun = "", false
	}
	for _, c := range line {
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && !begun && strings.ContainsRune("#|&;<>", c):
			return all
		case quote == 0 && (c == ' ' || c == '\n'):
			end()
		default:
			word, begun = word+string(c), true
		}
	}
	end()
	return all
}

// Wrong says what the program, whose root command is given anew for each call, does not know
// of the command, or "". An ellipsis stands for anything, and so does a word in capitals.
func (s Shown) Wrong(root *cobra.Command) string {
	args := s.Args
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end] // what follows is another program's
	}
	cmd, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err.Error()
	case cmd == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return "there is no command " + rest[0]
	}
	cmd.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	for _, a := range rest {
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if strings.HasPrefix(a, "--") && cmd.Flag(name) == nil && root.Flag(name) == nil {
			return "there is no flag --" + name
		}
	}
	if len(rest) == 0 || slices.ContainsFunc(rest, placeholder) || strings.HasPrefix(rest[len(rest)-1], "--") {
		return "" // the page says of a flag what it is for, and leaves out its value
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	return ""
}

// placeholder reports whether the word stands for one of the reader's.
func placeholder(word string) bool {
	return word == "…" || strings.ToUpper(word) == word && strings.ToLower(word) != word
}
