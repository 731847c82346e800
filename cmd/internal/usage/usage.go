// Package usage is what the commands have to say to somebody who called them
// wrongly: one line that tells what is wrong and how to mend it.
package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Error is a mistake of the person who called.
type Error struct{ err error }

// Of makes an error a mistake of the person who called; nil stays nil.
func Of(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err}
}

// Error implements error.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap gives the error that it was made of.
func (e *Error) Unwrap() error { return e.err }

// FirstLine is a text as one line, which tells how many more there are.
func FirstLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[0]
	if more := len(lines) - 1; more > 0 {
		line += fmt.Sprintf(" (and %d more)", more)
	}
	return line
}

// kinds says what values of a kind of flag look like.
var kinds = map[string]string{
	"duration": "a time with its unit, such as 1500ms, 15s or 2m",
	"int":      "a whole number, such as 1",
	"uint64":   "a whole number that is not negative, such as 1",
	"float64":  "a number, such as 0.5",
	"bool":     "true or false",
	"i/n":      "the number of a shard and how many there are, such as 3/8",
}

// Flag says what is wrong with a flag. It is a command's FlagErrorFunc.
func Flag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && kinds[invalid.GetFlag().Value.Type()] != "" {
		err = fmt.Errorf("--%s is %q; it must be %s", invalid.GetFlag().Name, invalid.GetValue(), kinds[invalid.GetFlag().Value.Type()])
	}
	return Of(fmt.Errorf("%w: see \"%s --help\"", err, cmd.CommandPath()))
}

// UnknownCommand refuses a first word that is no command of the program. It is
// the root's Args; the hint, if there is one, ends the line.
func UnknownCommand(hint string) cobra.PositionalArgs {
	return func(root *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var known []string
		for _, c := range root.Commands() {
			known = append(known, c.Name())
		}
		return Of(fmt.Errorf("there is no command %q: give one of %s%s", args[0], strings.Join(known, ", "), hint))
	}
}

// NoArguments refuses arguments. It is a command's Args.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Of(fmt.Errorf("%s takes no arguments, and got %q", cmd.CommandPath(), args))
}
