package live

import (
	"bufio"
	"bytes"
	"io"
	"os"
)

// panicStatus is the exit status of a Go program that panicked, and of many that
// did not.
const panicStatus = 2

// panicked is what a Go program that ended with that status says it panicked
// with; "" if it says nothing of the kind. What it has written to standard error
// stands in the log from an offset on.
func panicked(status int, log string, from int64) string {
	if status != panicStatus {
		return ""
	}
	file, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewReader(io.NewSectionReader(file, from, 1<<62))
	for {
		line, whole, err := nextLine(lines)
		for _, begin := range []string{"panic: ", "fatal error: "} {
			if words, found := bytes.CutPrefix(line, []byte(begin)); found && whole {
				return string(words)
			}
		}
		if err != nil {
			return ""
		}
	}
}
