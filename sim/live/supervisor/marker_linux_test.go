package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// orphan starts a process whose child leaves its group, with a child of its own, and
// ends the group. It returns the marker that they have, the orphan's number, and a file
// that ends with the last of them.
func orphan(t *testing.T, w *Supervisor) (m *Marker, pid int, alive *os.File) {
	t.Helper()
	m, err := w.Marker()
	if err != nil {
		t.Fatal(err)
	}
	alive, theirs := pipe(t)
	cmd := exec.Command("sh", "-c", "setsid sh -c 'sleep 1000 & echo $$ >&3; wait' & wait")
	cmd.Env = append(os.Environ(), m.Variable())
	cmd.ExtraFiles = []*os.File{theirs}
	p, err := w.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // only the processes hold it
	line, err := bufio.NewReader(alive).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // killed
	return m, pid, alive
}

// What has left its process group outlives that, and is ended by its own marker: by no
// other one, and by nothing that is none.
func TestMarkerEndsWhatHasLeft(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid on PATH")
	}
	w := start(t)
	mine, pid, alive := orphan(t, w)
	theirs, other, _ := orphan(t, w)
	for _, name := range []string{"", "x", "recount", mine.name[len(Prefix):]} {
		if err := endMarked(t.Context(), name); err == nil {
			t.Errorf("%q is taken for a marker", name)
		}
	}
	if err := endMarked(t.Context(), mine.name[:len(mine.name)-1]); err != nil {
		t.Error(err)
	}
	lives := func(pid int) {
		t.Helper()
		if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); len(command) == 0 { // a zombie has none
			t.Errorf("process %d has ended: %v", pid, err)
		}
	}
	lives(pid)
	lives(other)
	if err := mine.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	lives(other)
	if err := theirs.End(); err != nil {
		t.Fatal(err)
	}
	if n := killMarked(theirs.Variable()); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}
