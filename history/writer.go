package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes the history in the file format: the header, then one event a
// line. The result is the same bytes for the same history.
func (h *History) Write(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	header := h.Header
	header.Version = Version
	if err := lines.Encode(header); err != nil {
		return fmt.Errorf("history: write header: %w", err)
	}
	for i := range h.Events {
		if err := lines.Encode(&h.Events[i]); err != nil {
			return fmt.Errorf("history: write event %d: %w", h.Events[i].Seq, err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("history: write: %w", err)
	}
	return nil
}
