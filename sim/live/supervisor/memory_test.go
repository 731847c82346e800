package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A directory in memory is where it should be, is refused to nobody where there
// is no room, and is removed like any other.
func TestMemoryDirectory(t *testing.T) {
	w, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	fast, err := w.MemoryDirectory("test", 1)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := w.MemoryDirectory("test", 1<<62)
	if err != nil {
		t.Fatal(err)
	}
	if memoryRoom() > 0 && filepath.Dir(fast) != memoryRoot {
		t.Errorf("%s is not in memory", fast)
	}
	if filepath.Dir(plain) != filepath.Clean(os.TempDir()) {
		t.Errorf("%s is not among the temporary files", plain)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{fast, plain} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}
