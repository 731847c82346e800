package instrument_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Who asks for health checks gets no library of metrics or traces with them:
// this package and elector/health need nothing but the elector.
func TestNoLibraries(t *testing.T) {
	read := 0
	for _, pattern := range []string{"*.go", "../*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			read++
			for _, spec := range file.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				host, _, _ := strings.Cut(path, "/")
				if strings.Contains(host, ".") && !strings.HasPrefix(path, "github.com/recount-io/recount/elector") {
					t.Errorf("%s imports %s: put what needs it into a package of its own", name, path)
				}
			}
		}
	}
	if read < 8 {
		t.Errorf("only %d files were read: the test runs in the wrong folder", read)
	}
}
