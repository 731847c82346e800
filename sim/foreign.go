package sim

import "strings"

// What worlds note of candidates of which nothing is known but what they do
// (Plan.Foreign), and that are part of the world's program.
const (
	// NothingRead is the text of the note that is in the history if no candidate has
	// connected by the way that it was given.
	NothingRead = "nothing was read from the wire: no candidate connected by the dialer that it was given"
	// UnknownCommand begins the text of the note that names a command that a candidate
	// has sent and the model of Redis does not know.
	UnknownCommand = "the model of Redis does not know the command "
)

// Unknown is what the model of Redis did not know of a command that got this error, as the
// text of a note; "" if it knew it.
func Unknown(command, err string) string {
	const lacks = "nonexistent global variable '"
	switch i := strings.Index(err, lacks); {
	case strings.HasPrefix(err, "ERR unknown command"):
		return UnknownCommand + command
	case i >= 0:
		name, _, _ := strings.Cut(err[i+len(lacks):], "'")
		return UnknownCommand + command + " of a script that uses " + name
	default:
		return ""
	}
}
