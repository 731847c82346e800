package redismodel

import (
	"slices"
	"strconv"
	"time"
)

// Persistence is what a server has on disk after a crash.
type Persistence uint8

// The kinds of persistence. A crash here is that of the machine: if only the
// process is killed, a real server with EverySecond loses nothing, for the
// system has what it wrote, and with Snapshots it loses the same.
const (
	// None keeps nothing: save "" and appendonly no.
	None Persistence = iota

	// Always keeps every write, for its reply is only sent when it is on disk:
	// appendfsync always.
	Always

	// EverySecond keeps what was written before the wall clock's present
	// second began: appendfsync everysec. After a step back of the clock
	// nothing is synced until it is past the second of the last sync. A real
	// server with a slow disk may lose a second more.
	EverySecond

	// Snapshots keeps what was there when the last snapshot began: save. They
	// are taken each SnapshotEvery since the server's first command by the
	// wall clock, and are complete at once; those of a real server take some
	// time, and are not taken if nothing changed.
	Snapshots
)

// disk is what would be left after a crash. Of a server with Always that is
// the data itself, and with None nothing: they need none of this.
type disk struct {
	on      bool
	image   keyspace
	pending []effect      // not on disk yet
	last    time.Duration // sync or snapshot
	started bool
}

func (d *disk) reset(on bool, image keyspace) { *d = disk{on: on, image: image} }

func (d *disk) sync() {
	for i := range d.pending {
		f := &d.pending[i]
		d.image.apply(d.image.entries[f.key], f)
	}
	clear(d.pending) // it must not keep what is deleted alive
	d.pending = d.pending[:0]
}

// passSyncs does what was done for the data's safety until now.
func (s *Server) passSyncs() {
	d, every := &s.disk, time.Second
	phase := time.Duration(0)
	if s.o.Persistence == Snapshots {
		every = s.o.SnapshotEvery
		phase = d.last % every
	}
	if !d.started {
		d.started, d.last = true, s.now
		if s.o.Persistence == EverySecond {
			d.last -= s.now % every
		}
		return
	}
	if s.now-d.last < every {
		return
	}
	d.sync()
	d.last = s.now - (s.now-phase)%every
}

// Crash stops the server as a power failure does. Connections are gone, and
// with them the subscriptions and the links of replicas; the scripts are
// forgotten. What is left of the data, Restart tells. Until then the server
// must not be called.
func (s *Server) Crash() {
	s.Sever()
	for _, replica := range slices.Clone(s.replicas) {
		replica.Sever()
	}
	s.down, s.primary = true, nil
	clear(s.channels)
	s.FlushScripts()
}

// Restart starts a server that crashed: with what its persistence kept, which
// may be the data of an earlier time, or with nothing, as if the disk had been
// lost. now is its wall clock. It is a primary: one that is to be a replica
// must be made one again.
func (s *Server) Restart(now time.Duration, keepData bool) {
	if !s.down {
		panic("redismodel: a restart of a server that did not crash")
	}
	s.down = false
	s.runs++
	s.name()
	s.stream.offset = 0
	s.start()
	switch {
	case !keepData || s.o.Persistence == None:
		s.data = newKeyspace()
	case s.disk.on:
		s.data = s.disk.image
	}
	s.disk.reset(s.disk.on, s.data.clone())
	s.started = false
	s.begin(now)
	s.sweep()
}

// Policy is what a server does when it is full.
type Policy uint8

// The policies. A real server knows last accesses roughly only, and looks at a
// sample of keys; here it is always the right one.
const (
	NoEviction  Policy = iota // it refuses commands that need memory
	AllKeysLRU                // it deletes the key whose last access is longest ago
	VolatileLRU               // the same among the keys that have a time to live
	VolatileTTL               // it deletes the key that would expire first
)

// makeRoom deletes keys until no more are left than there is room for. This
// comes before a command, so the command may add one too many.
func (s *Server) makeRoom() {
	for s.full() {
		key, found := s.victim()
		if !found {
			return
		}
		s.Evict(key)
	}
}

func (s *Server) full() bool { return s.o.MaxKeys > 0 && len(s.data.entries) > s.o.MaxKeys }

// victim is the key that the policy gives up first.
func (s *Server) victim() (string, bool) {
	var first string
	var least *entry
	for key, e := range s.data.entries { // in any order: ties go by name
		switch {
		case s.o.Policy == NoEviction, s.o.Policy != AllKeysLRU && e.expires == never:
		case least == nil, s.before(e, least), !s.before(least, e) && key < first:
			first, least = key, e
		}
	}
	return first, least != nil
}

func (s *Server) before(a, b *entry) bool {
	if s.o.Policy == VolatileTTL {
		return a.expires < b.expires
	}
	return a.used < b.used
}

// Evict deletes the key, as a server does that runs out of memory: to its
// clients, a key that is just gone. It reports whether the key was there.
func (s *Server) Evict(key string) bool {
	e := s.data.entries[key]
	if e != nil {
		s.evicted++
		s.change(e, effect{op: opDel, key: key})
	}
	return e != nil
}

// Backup keeps what the server holds. The function that it returns restores that, without a
// restart, as DUMP and RESTORE do: each key with the time to live that it had.
func (s *Server) Backup(now time.Duration) (restore func(now time.Duration)) {
	s.Do(now, "PING") // what has expired is over
	kept := s.data.clone()
	return func(then time.Duration) {
		s.Do(then, "FLUSHALL")
		for key, e := range kept.entries { // in any order: the outcome is the same
			switch e.kind {
			case aString:
				s.Do(then, "SET", key, e.text)
			case aHash:
				s.Do(then, append([]string{"HSET", key}, e.items...)...)
			case aList:
				s.Do(then, append([]string{"RPUSH", key}, e.items...)...)
			}
			if e.expires != never {
				s.Do(then, "PEXPIRE", key, strconv.FormatInt(e.expires-now.Milliseconds(), 10))
			}
		}
	}
}
