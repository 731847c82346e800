package inspection

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

const (
	// oldest is the first version on which scripts that ask for the time may write.
	oldest = 5
	// memoryRoom is what the keys of some runs and the buffers of their connections
	// take, and some more.
	memoryRoom = 8 << 20
	// fewConnections are those of a caller that does not say how many it needs.
	fewConnections = 4
)

// information are the fields of INFO. Not every server has every one.
type information map[string]string

func parse(text string) information {
	fields := information{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// number is a field's value, 0 if there is none.
func (f information) number(field string) int64 {
	n, err := strconv.ParseInt(f[field], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// judge says why a server that tells this of itself will not do, if so.
func (i *visit) judge(f information) error {
	major, _, _ := strings.Cut(f["redis_version"], ".")
	version, err := strconv.Atoi(major)
	switch {
	case f["redis_mode"] == "sentinel":
		return i.unsuitable("is a Sentinel, and keeps no data; give the address of the primary that it names (SENTINEL MASTERS)")
	case f["cluster_enabled"] == "1":
		return i.unsuitable("is a node of a cluster, which has only some of the keys; give a Redis that is no cluster: scenarios in a cluster start one of their own")
	case f["role"] == "slave":
		return i.unsuitable("is a replica, and takes no writes; give its primary, %s", net.JoinHostPort(f["master_host"], f["master_port"]))
	case err == nil && version < oldest:
		return i.unsuitable("is of version %s, and scripts that ask for the time may not write there; use Redis %d or newer", f["redis_version"], oldest)
	case i.need.Clean:
		return nil // it takes neither memory nor connections
	}
	if why := i.judgeMemory(f); why != nil {
		return why
	}
	return i.judgeConnections(f)
}

func (i *visit) judgeMemory(f information) error {
	limit, used := f.number("maxmemory"), f.number("used_memory")
	if limit == 0 || limit-used >= memoryRoom {
		return nil
	}
	room := fmt.Sprintf("has %d KiB of memory left below maxmemory, and a run needs %d", max(limit-used, 0)>>10, memoryRoom>>10)
	if f.evicts() {
		return i.unsuitable("%s: it would evict somebody's keys (maxmemory-policy %s); raise maxmemory there, or use another Redis", room, f["maxmemory_policy"])
	}
	return i.unsuitable("%s; raise maxmemory there, or use another Redis", room)
}

func (f information) evicts() bool {
	return f["maxmemory_policy"] != "" && f["maxmemory_policy"] != "noeviction"
}

func (i *visit) judgeConnections(f information) error {
	most := f.number("maxclients")
	if most == 0 {
		return nil // it does not tell
	}
	others := max(f.number("connected_clients")-1, 0) // but us
	need := int64(max(i.need.Connections, fewConnections))
	if most-others >= need {
		return nil
	}
	return i.unsuitable("has room for %d more connections (maxclients %d, of which others have %d), and the run opens up to %d; lower --parallel or --nodes, or raise maxclients there",
		max(most-others, 0), most, others, need)
}

// notes are what a person should know of a server that will do.
func (f information) notes() []string {
	var notes []string
	add := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	others := f.number("connected_clients") - 1
	add(others == 1, "One other client is connected: it shares the server's time with the run.")
	add(others > 1, "%d other clients are connected: they share the server's time with the run.", others)
	replicas := f.number("connected_slaves")
	add(replicas > 0, "What the run writes goes to the server's replicas, too (%d).", replicas)
	add(f.number("maxmemory") > 0 && f.evicts(), "When its memory is full, the server evicts keys (maxmemory-policy %s): a promise that breaks then was not the elector's.", f["maxmemory_policy"])
	add(f["rdb_last_bgsave_status"] == "err", "The server could not save its data the last time.")
	return notes
}
