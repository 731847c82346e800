package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// maxLine is how many bytes one line of a history has at the most, without its
// end; a longer one is no history of ours.
const maxLine = 4 << 20

// mendTimes is what to do about a time or duration that no history can hold.
const mendTimes = "give times in nanoseconds since the start of the run, and durations in nanoseconds"

// FormatError says where a file stops being a history, and what to do.
type FormatError struct {
	Line int    // 1 is the header
	What string // what is wrong, in one clause
	Mend string // what the reader of the message can do about it
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("history: line %d: %s; %s", e.Line, e.What, e.Mend)
}

// Reader reads a history event by event, in constant memory.
type Reader struct {
	lines  *bufio.Reader
	line   int
	header Header
	seq    int64
	at     time.Duration
}

// NewReader reads the header. It returns a *FormatError for an input that is
// empty, no history, of another version, or whose times and durations are beyond
// MaxTime and MaxDuration.
func NewReader(r io.Reader) (*Reader, error) {
	hr := &Reader{lines: bufio.NewReaderSize(r, 1<<16)}
	text, err := hr.next()
	if errors.Is(err, io.EOF) {
		return nil, &FormatError{1, "the file is empty", "record a run with \"chaos run\" first"}
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &hr.header); err != nil {
		return nil, &FormatError{1, "not JSON (" + err.Error() + ")", "a history is one JSON object a line, header first"}
	}
	switch hr.header.Version {
	case Version:
		if wrong := hr.header.outside(); wrong != "" {
			return nil, &FormatError{1, wrong, mendTimes}
		}
		return hr, nil
	case 0:
		return nil, &FormatError{1, `no header: the field "recount_history" is missing`, "give a history.jsonl that starts with its header"}
	default:
		return nil, &FormatError{1, fmt.Sprintf("history version %d, this program reads version %d", hr.header.Version, Version), "use the release of recount that wrote it"}
	}
}

// Header returns the first line.
func (r *Reader) Header() Header { return r.header }

// Next returns the next event, io.EOF after the last one, and a *FormatError
// where the file is cut off, out of order, no history, or has times beyond MaxTime.
func (r *Reader) Next() (Event, error) {
	text, err := r.next()
	if err != nil {
		return Event{}, err
	}
	var e Event
	if err := json.Unmarshal(text, &e); err != nil {
		return Event{}, &FormatError{r.line, "not an event (" + err.Error() + ")", "the file was damaged: copy it again"}
	}
	if !known(e.Kind) {
		return Event{}, &FormatError{r.line, fmt.Sprintf("unknown kind %q", e.Kind), "use the release of recount that wrote it"}
	}
	if e.Seq != r.seq+1 {
		return Event{}, &FormatError{r.line, fmt.Sprintf("out of order: seq %d follows %d", e.Seq, r.seq), "lines are missing or were moved: copy the file again"}
	}
	if wrong := e.outside(); wrong != "" {
		return Event{}, &FormatError{r.line, wrong, mendTimes}
	}
	if e.At < r.at {
		return Event{}, &FormatError{r.line, fmt.Sprintf("out of order: time %d follows %d", e.At, r.at), "sort the events by time before writing them"}
	}
	r.seq, r.at = e.Seq, e.At
	return e, nil
}

// next returns one whole line without its end.
func (r *Reader) next() ([]byte, error) {
	var long []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line := part
		if long != nil || errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			line = long
		}
		whole := len(line)
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) > maxLine || whole > maxLine+len("\r\n"):
			return nil, &FormatError{r.line + 1, "line longer than 4 MiB", "this is no history"}
		case err == nil:
			r.line++
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(long)+len(part) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, &FormatError{r.line + 1, "cut off in the middle of a line", "copy the whole file, or delete its last line"}
		default:
			return nil, fmt.Errorf("history: line %d: %w", r.line+1, err)
		}
	}
}

var kinds = []Kind{Invoke, Ok, Fail, Info, Elected, Extended, Deposed, Fault, Healed, Audit, Exit, Start, Note}

func known(k Kind) bool { return slices.Contains(kinds, k) }

// Load reads a whole history. Its errors are those of NewReader and Next.
func Load(r io.Reader) (*History, error) {
	hr, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	h := &History{Header: hr.Header()}
	for {
		e, err := hr.Next()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
}
