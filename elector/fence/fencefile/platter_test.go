package fencefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// platter is a disk in memory, whose processes die in the middle of what they do, which
// takes time, fills up, fails, goes away, and crashes: then it has what was
// synchronised, and of the rest what the draw leaves. Names in its folder are kept in
// the order in which they were changed; the content of a file likewise, and the last
// change that is kept may be kept in part.
type platter struct {
	mu     sync.Mutex
	rand   *rand.Rand
	epoch  int              // how often it has crashed
	names  map[string]*node // as processes see them
	synced map[string]*node // that outlive a crash
	since  []renaming       // of names, since they were synchronised
	fault  error            // that it has; nil: none
	in     int              // so many steps one fails then
	slow   time.Duration    // what a step takes at the most
}

// folder is the only one of the disk.
const folder = "/folder"

// renaming is a change of names: a new one, or one that takes another's place.
type renaming struct {
	from, to string
	node     *node
}

// node is a file.
type node struct {
	content []byte // as processes see it
	synced  []byte // that outlives a crash
	since   []splice
	mode    fs.FileMode
	owner   *grip // of the lock
}

// splice is a change of a file's content.
type splice struct {
	at       int64
	bytes    []byte
	truncate bool // it ends there
}

func (s splice) apply(content []byte) []byte {
	if len(s.bytes) == 0 && !s.truncate {
		return content
	}
	if grown := int(s.at) - len(content); grown > 0 {
		content = append(content, make([]byte, grown)...)
	}
	if s.truncate {
		return content[:s.at:s.at]
	}
	end := int(s.at) + len(s.bytes)
	out := append(slices.Clone(content[:s.at]), s.bytes...)
	if end < len(content) {
		out = append(out, content[end:]...)
	}
	return out
}

func newPlatter(seed uint64) *platter {
	return &platter{rand: rand.New(rand.NewPCG(seed, 77)), names: map[string]*node{}, synced: map[string]*node{}, in: 2}
}

// crash ends every process, and leaves what was synchronised, and some of the rest.
func (p *platter) crash() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	for _, r := range p.since[:p.rand.IntN(len(p.since)+1)] {
		r.apply(p.synced)
	}
	p.since, p.names = nil, map[string]*node{}
	for name, n := range p.synced {
		n.crash(p.rand)
		p.names[name] = n
	}
}

func (r renaming) apply(names map[string]*node) {
	if r.from != "" {
		delete(names, r.from)
	}
	names[r.to] = r.node
}

// crash leaves of the content what was synchronised, and some of the rest.
func (n *node) crash(r *rand.Rand) {
	content := n.synced
	if len(n.since) > 0 {
		kept := r.IntN(len(n.since) + 1)
		for _, s := range n.since[:kept] {
			content = s.apply(content)
		}
		if kept < len(n.since) && !n.since[kept].truncate {
			s := n.since[kept]
			s.bytes = s.bytes[:r.IntN(len(s.bytes)+1)]
			content = s.apply(content)
		}
	}
	n.content, n.synced, n.since, n.owner = content, content, nil, nil
}

// program is a process that uses the disk. The lock of the disk guards it.
type program struct {
	platter *platter
	epoch   int // of the disk that it knows
	dead    bool
	steps   int // after so many it dies; below 0: it does not
	faults  int // that it has met
	stalls  time.Duration
}

var _ disk = (*program)(nil)

// process begins another one.
func (p *platter) process() *program {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &program{platter: p, epoch: p.epoch, steps: -1}
}

// kill ends the process at its next step. It gives its locks back now.
func (g *program) kill() {
	g.platter.mu.Lock()
	defer g.platter.mu.Unlock()
	g.die()
}

func (g *program) die() {
	g.dead = true
	for _, n := range g.platter.names {
		if n.owner != nil && n.owner.program == g {
			n.owner = nil
		}
	}
}

func (g *program) gone() bool { return g.dead || g.epoch != g.platter.epoch }

// step is one thing that a process asks of the disk. Who is dead asks nothing more.
func (g *program) step(do func() error) error {
	p := g.platter
	p.mu.Lock()
	var wait time.Duration
	switch {
	case p.slow > 0 && p.rand.IntN(400) == 0: // it is suspended
		wait = time.Duration(p.rand.Int64N(int64(100 * p.slow)))
		g.stalls += wait
	case p.slow > 0 && p.rand.IntN(3) == 0:
		wait = time.Duration(p.rand.Int64N(int64(p.slow)))
	}
	p.mu.Unlock()
	time.Sleep(wait)
	p.mu.Lock()
	defer p.mu.Unlock()
	if g.steps == 0 {
		g.die()
	}
	g.steps--
	if g.gone() {
		runtime.Goexit()
	}
	if p.failsNow() {
		g.faults++
		return p.fault
	}
	return do()
}

// failsNow reports whether the disk fails what is asked of it now. A folder that is gone is
// so for everything, a full disk for what is written.
func (p *platter) failsNow() bool {
	switch {
	case p.fault == nil || errors.Is(p.fault, syscall.ENOSPC):
		return false
	default:
		return errors.Is(p.fault, syscall.ENOENT) || p.rand.IntN(p.in) == 0
	}
}

func (g *program) open(name string, flag int, mode fs.FileMode) (h handle, err error) {
	err = g.step(func() error {
		p := g.platter
		switch n := p.names[name]; {
		case name == folder:
			h = &grip{program: g}
		case n == nil && flag&os.O_CREATE == 0:
			return fs.ErrNotExist
		case n != nil && flag&os.O_EXCL != 0:
			return fs.ErrExist
		default:
			if n == nil {
				n = &node{mode: mode}
				p.rename(renaming{to: name, node: n})
			}
			if flag&os.O_TRUNC != 0 {
				n.change(splice{truncate: true})
			}
			h = &grip{program: g, node: n}
		}
		return nil
	})
	return h, err
}

func (p *platter) rename(r renaming) {
	r.apply(p.names)
	p.since = append(p.since, r)
}

func (n *node) change(s splice) {
	n.content = s.apply(n.content)
	n.since = append(n.since, s)
}

func (g *program) rename(from, to string) error {
	return g.step(func() error {
		n := g.platter.names[from]
		if n == nil {
			return fs.ErrNotExist
		}
		g.platter.rename(renaming{from, to, n})
		return nil
	})
}

func (g *program) stat(name string) (info fs.FileInfo, err error) {
	err = g.step(func() error {
		n := g.platter.names[name]
		if n == nil {
			return fs.ErrNotExist
		}
		info = about{n, int64(len(n.content)), n.mode}
		return nil
	})
	return info, err
}

func (g *program) same(a, b fs.FileInfo) bool { return a.(about).node == b.(about).node }

// about is a file's fs.FileInfo.
type about struct {
	node *node
	size int64
	mode fs.FileMode
}

func (a about) Name() string       { return "" }
func (a about) Size() int64        { return a.size }
func (a about) Mode() fs.FileMode  { return a.mode }
func (a about) ModTime() time.Time { return time.Time{} }
func (a about) IsDir() bool        { return false }
func (a about) Sys() any           { return nil }

// grip is an open file, or the open folder.
type grip struct {
	program *program
	node    *node // nil: the folder
	read    int64
}

var _ handle = (*grip)(nil)

func (h *grip) Read(b []byte) (n int, err error) {
	n, err = h.ReadAt(b, h.read)
	h.read += int64(n)
	return n, err
}

func (h *grip) ReadAt(b []byte, at int64) (n int, err error) {
	err = h.program.step(func() error {
		switch {
		case len(b) == 0:
			return nil
		case at >= int64(len(h.node.content)):
			return io.EOF
		}
		if n = copy(b, h.node.content[at:]); n < len(b) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

func (h *grip) WriteAt(b []byte, at int64) (n int, err error) {
	p := h.program.platter
	err = h.program.step(func() error {
		n = len(b)
		full := errors.Is(p.fault, syscall.ENOSPC)
		if full || h.program.steps == 0 { // of who dies now, a part is written
			n = p.rand.IntN(len(b) + 1)
		}
		h.node.change(splice{at: at, bytes: bytes.Clone(b[:n])})
		if full && n < len(b) {
			h.program.faults++
			return p.fault
		}
		return nil
	})
	return n, err
}

func (h *grip) Truncate(size int64) error {
	return h.program.step(func() error {
		h.node.change(splice{at: size, truncate: true})
		return nil
	})
}

func (h *grip) Sync() error {
	return h.program.step(func() error {
		if h.node != nil {
			h.node.synced, h.node.since = h.node.content, nil
			return nil
		}
		p := h.program.platter
		for _, r := range p.since {
			r.apply(p.synced)
		}
		p.since = nil
		return nil
	})
}

func (h *grip) Chmod(mode fs.FileMode) error {
	return h.program.step(func() error {
		h.node.mode = mode
		return nil
	})
}

func (h *grip) Stat() (info fs.FileInfo, err error) {
	err = h.program.step(func() error {
		info = about{h.node, int64(len(h.node.content)), h.node.mode}
		return nil
	})
	return info, err
}

func (h *grip) lock() (locked bool, err error) {
	err = h.program.step(func() error {
		if h.node.owner == nil || h.node.owner == h {
			h.node.owner, locked = h, true
		}
		return nil
	})
	return locked, err
}

// Close gives the lock back, also of who is dead: the system does.
func (h *grip) Close() error {
	p := h.program.platter
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.node != nil && h.node.owner == h {
		h.node.owner = nil
	}
	return nil
}

// met is how many faults the process has met.
func (g *program) met() int {
	g.platter.mu.Lock()
	defer g.platter.mu.Unlock()
	return g.faults
}

// stood is for how long the process has been suspended.
func (g *program) stood() time.Duration {
	g.platter.mu.Lock()
	defer g.platter.mu.Unlock()
	return g.stalls
}

// over reports whether the process has died.
func (g *program) over() bool {
	g.platter.mu.Lock()
	defer g.platter.mu.Unlock()
	return g.gone()
}

// fail makes the disk fail from now on; nil: no more.
func (p *platter) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = err
}

// read is what a file holds, as processes see it.
func (p *platter) read(name string) (content []byte, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, is := p.names[name]
	if !is {
		return nil, false
	}
	return bytes.Clone(n.content), true
}

// restore puts a file in the place of another one, as an operator does; nil: none.
func (p *platter) restore(name string, content []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := &node{content: content, synced: content, mode: 0o644}
	for _, names := range []map[string]*node{p.names, p.synced} {
		if names[name] = n; content == nil {
			delete(names, name)
		}
	}
}
