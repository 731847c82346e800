package reports

import (
	"bytes"
	"slices"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Files makes everything that one run's folder receives, by file name:
// report.json, report.html, report.md, junit.xml, history.jsonl and, where the
// operations on the lease can be drawn, lease.html. Passwords are taken out of
// all of them; rep, h and r are not changed.
//
// All of it is quick but lease.html, whose search for an order may take ten
// seconds where there is none.
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
	if page := leasePage(h, r); page != nil {
		files["lease.html"] = page
	} else {
		own.Files = slices.DeleteFunc(own.Files, func(name string) bool { return name == "lease.html" })
	}
	var err error
	if files["report.json"], err = JSON(&own); err != nil {
		return nil, err
	}
	d, err := own.Document(h, r)
	if err != nil {
		return nil, err
	}
	files["report.md"] = d.Markdown()
	if files["report.html"], err = d.HTML(); err != nil {
		return nil, err
	}
	if files["junit.xml"], err = JUnit([]*Report{&own}); err != nil {
		return nil, err
	}
	return files, nil
}

// leasePage draws the operations on the lease. It returns nil where that is
// not possible: there are none, or the history is not well-formed, which the
// drawing relies on. The verdict does not depend on it, so that is no error;
// report.html says that the page is missing.
func leasePage(h *history.History, r *checker.Result) []byte {
	for _, f := range slices.Concat(r.Asked, r.Measured) {
		if f.Promise == checker.WellFormed && f.Verdict == checker.Fail {
			return nil
		}
	}
	var page bytes.Buffer
	if err := checker.VisualizeLease(h, &page); err != nil {
		return nil
	}
	return page.Bytes()
}
