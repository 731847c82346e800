package loopback

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadCommand reads what a client of Redis sends: an array of bulk strings.
func ReadCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in, '*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(in, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	return args, nil
}

func readLength(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q does not begin with %q", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// WriteCommand writes what ReadCommand reads.
func WriteCommand(out io.Writer, args []string) error {
	text := "*" + strconv.Itoa(len(args)) + "\r\n"
	for _, arg := range args {
		text += "$" + strconv.Itoa(len(arg)) + "\r\n" + arg + "\r\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
