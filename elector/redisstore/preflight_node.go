package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// node is what one server says of itself.
type node struct {
	addr   string
	client *redis.Client
	info   map[string]string // fields of INFO
	config map[string]string // settings, as far as they could be read
	hidden []string          // what could not be read, and why
	trips  []time.Duration   // of PING, sorted
	ahead  time.Duration     // of our wall clock
	timed  bool              // ahead is known
}

// nodeSettings are what the guarantee hangs on.
var nodeSettings = []string{
	"maxmemory", "maxmemory-policy", "save", "appendonly", "appendfsync",
	"min-replicas-to-write", "replica-serve-stale-data", "cluster-require-full-coverage",
	"lua-replicate-commands",
}

const pings = 20

// readNode asks one server. Its error says that there is no answer at all, or
// none to outsiders.
func readNode(ctx context.Context, r *redis.Client) (*node, error) {
	n := &node{addr: r.Options().Addr, client: r, info: map[string]string{}, config: map[string]string{}}
	if err := r.Ping(ctx).Err(); err != nil && (!isReply(err) || fixOf(err) != "" && !denied(err)) {
		return nil, err
	}
	for range pings {
		began := time.Now()
		if err := r.Ping(ctx).Err(); err == nil || isReply(err) {
			n.trips = append(n.trips, time.Since(began))
		}
	}
	slices.Sort(n.trips)
	text, err := r.Info(ctx).Result()
	n.note("INFO", err)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			n.info[name] = value
		}
	}
	for _, name := range nodeSettings {
		values, err := r.ConfigGet(ctx, name).Result()
		if err != nil {
			n.note("CONFIG GET", err)
			if denied(err) {
				break // so are the others
			}
			continue
		}
		if value, ok := values[name]; ok {
			n.config[name] = value
		}
	}
	began := time.Now()
	now, err := r.Time(ctx).Result()
	n.note("TIME", err)
	if err == nil {
		n.ahead, n.timed = now.Sub(began.Add(time.Since(began)/2)), true
	}
	return n, nil
}

// note keeps in mind what could not be read.
func (n *node) note(what string, err error) {
	if err != nil && !slices.ContainsFunc(n.hidden, func(h string) bool { return strings.HasPrefix(h, what+" ") }) {
		n.hidden = append(n.hidden, fmt.Sprintf("%s (%v)", what, plain(err)))
	}
}

// deniedWords are those of servers and services that do not have a command, or do not let
// this user have it, in lower case.
var deniedWords = [...]string{
	"unknown command", "unknown subcommand", "unsupported command", "command is not available",
	"' is not allowed", "not support for", "auth permission deny",
}

// denied reports whether the server knows the request and the user may not make
// it, or the server does not know it.
func denied(err error) bool {
	if !isReply(err) {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.HasPrefix(text, "noperm") || slices.ContainsFunc(deniedWords[:], func(words string) bool { return strings.Contains(text, words) })
}

// setting is a setting of the server, from CONFIG GET or else from INFO.
func (n *node) setting(name, inInfo string) (string, bool) {
	if value, ok := n.config[name]; ok {
		return value, true
	}
	value, ok := n.info[inInfo]
	return value, ok
}

func (n *node) number(field string) int64 {
	value, err := strconv.ParseInt(n.info[field], 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// olderThan reports whether the server says that it is older than this version.
func (n *node) olderThan(major, minor int) bool {
	var has [2]int
	if _, err := fmt.Sscanf(n.info["redis_version"], "%d.%d", &has[0], &has[1]); err != nil {
		return false
	}
	return slices.Compare(has[:], []int{major, minor}) < 0
}

// aof is whether an append-only file is kept: "yes", or "no".
func (n *node) aof() (value string, known bool) {
	if value, known = n.config["appendonly"]; !known && n.info["aof_enabled"] != "" {
		return map[string]string{"0": "no", "1": "yes"}[n.info["aof_enabled"]], true
	}
	return value, known
}

// replicas is how many replicas are connected and in step.
func (n *node) replicas() int {
	online := 0
	for i := range n.number("connected_slaves") {
		if strings.Contains(n.info["slave"+strconv.FormatInt(i, 10)], "state=online") {
			online++
		}
	}
	return online
}

// effects reports whether scripts that ask for the time may write.
func (n *node) effects(add addFunc) {
	if n.olderThan(5, 0) {
		add(store.SeverityError, "redis_version", "is "+n.info["redis_version"]+": before version 5 scripts that ask for the time may not write, so nobody is granted a lease",
			"upgrade the server to Redis 5 or newer")
	}
	if n.config["lua-replicate-commands"] == "no" { // of versions 5 and 6; later ones have no such setting
		add(store.SeverityError, "lua-replicate-commands", "is no: scripts that ask for the time may not write, so nobody is granted a lease", replicateFix)
	}
}

// ofNode is what is to be said about one server.
func (v *survey) ofNode(n *node) []store.Finding {
	var list []store.Finding
	add := func(severity store.Severity, subject, text, fix string) {
		list = append(list, store.Finding{Severity: severity, Subject: subject, Text: n.addr + nodeMark + text, Fix: fix})
	}
	if len(n.hidden) > 0 {
		add(store.SeverityNote, "unread", "this could not be read, so nothing is said about what depends on it: "+strings.Join(n.hidden, "; "),
			"allow the user of this check +info +config|get +time, or let an operator make it")
	}
	n.effects(add)
	v.role(n, add)
	v.memory(n, add)
	if v.store.confirm.fsync() {
		v.fsync(n, add)
	}
	if !v.store.confirm.own { // nobody leads by what is not on the disk
		v.persistence(n, add)
	}
	v.replication(n, add)
	v.timing(n, add)
	return list
}

type addFunc = func(severity store.Severity, subject, text, fix string)

func (v *survey) role(n *node, add addFunc) {
	if n.info["role"] == "slave" {
		primary := net.JoinHostPort(n.info["master_host"], n.info["master_port"])
		text := "this server is a replica (of " + primary + ") and takes no writes: nobody is granted a lease"
		if n.config["replica-serve-stale-data"] == "no" {
			text += "; with replica-serve-stale-data no it does not even answer while its primary is away"
		}
		add(store.SeverityError, "role", text, "connect to the primary at "+primary+", or through Sentinels (parameter master=NAME)")
	}
	_, isCluster := v.client.UniversalClient.(*redis.ClusterClient)
	if n.info["cluster_enabled"] == "1" && !isCluster {
		add(store.SeverityError, "cluster_enabled", "this server is a node of a cluster, and the store is not told so: it cannot follow an election whose keys are on another node",
			"connect with cluster=true, or set UniversalOptions.IsClusterMode")
	}
}

func (v *survey) memory(n *node, add addFunc) {
	limit, err := strconv.ParseInt(first(n.setting("maxmemory", "maxmemory")), 10, 64)
	if err != nil || limit == 0 {
		return // nothing is ever evicted, nor refused
	}
	policy := first(n.setting("maxmemory-policy", "maxmemory_policy"))
	severity, cost := store.SeverityWarning, "which costs up to a lease's time without a leader"
	if !v.protected() {
		severity, cost = store.SeverityError, "and with Options.Unprotected two candidates may lead then"
	}
	const fix = `set "maxmemory-policy noeviction", and leave room below maxmemory`
	switch {
	case strings.HasPrefix(policy, "allkeys-"):
		if v.protected() {
			cost += " and makes tokens jump to the server's clock"
		}
		add(severity, "maxmemory-policy", "is "+policy+": when memory is short, leases, counters and guards are evicted, "+cost, fix)
	case strings.HasPrefix(policy, "volatile-"):
		add(severity, "maxmemory-policy", "is "+policy+": when memory is short, leases are evicted, "+cost, fix)
	}
	used := n.number("used_memory")
	if policy != "noeviction" || used == 0 {
		return
	}
	room := fmt.Sprintf("%d of %d bytes are used", used, limit)
	switch {
	case used >= limit:
		add(store.SeverityError, "maxmemory", room+": writes are refused, so nobody is granted a lease or can renew one", "raise maxmemory, or remove keys")
	case used >= limit/10*9:
		add(store.SeverityWarning, "maxmemory", room+": once it is full, writes are refused, and nobody can renew a lease", "raise maxmemory, or remove keys")
	}
}

func first(value string, _ bool) string { return value }

// persistence says what a crash forgets.
func (v *survey) persistence(n *node, add addFunc) {
	aof, known := n.aof()
	save, knownSave := n.config["save"]
	severity, cost := store.SeverityNote, "Then nobody is granted a lease for as long as one may last, and tokens go on from the server's clock"
	if !v.protected() {
		severity, cost = store.SeverityWarning, "With Options.Unprotected two candidates may lead then, and tokens are handed out twice"
	}
	const fix = `if that is too much, set "appendonly yes" and "appendfsync always": elections write little`
	switch {
	case !known:
		return
	case aof == "no" && knownSave && save == "":
		add(severity, "persistence", "nothing is kept on disk (save \"\", appendonly no): a restart forgets every election. "+cost, fix)
	case aof == "no" && !knownSave:
		add(severity, "persistence", "no append-only file is kept: a crash forgets what happened since the last snapshot, if there are any. "+cost, fix)
	case aof == "no":
		add(severity, "persistence", "only snapshots are kept (appendonly no): a crash forgets what happened since the last one. "+cost, fix)
	}
	if aof != "yes" {
		return
	}
	switch n.config["appendfsync"] {
	case "everysec":
		add(severity, "appendfsync", "is everysec: a crash of the machine forgets up to two seconds, and the leases granted in them. "+cost, `if that is too much, set "appendfsync always": elections write little`)
	case "no":
		add(severity, "appendfsync", "is no: a crash of the machine forgets what the operating system had not written yet, about half a minute. "+cost, `set "appendfsync everysec", or always`)
	}
}

// replication compares the replicas that there are with those asked for.
func (v *survey) replication(n *node, add addFunc) {
	if n.info["role"] != "master" {
		return
	}
	online, asked := n.replicas(), v.store.confirm.most()
	option := "Options.Replicas"
	if v.store.confirm.disks > v.store.confirm.replicas {
		option = "Options.FsyncedReplicas"
	}
	half := (online + 1) / 2
	switch {
	case online < asked:
		add(store.SeverityError, "replicas", fmt.Sprintf("%s is %d and %d of the replicas are connected: no grant or renewal is ever confirmed, so nobody can lead", option, asked, online),
			fmt.Sprintf("connect %s more, or set %s to %d", count(asked-online, "replica"), option, online))
	case online > 0 && asked < half:
		add(store.SeverityWarning, "replicas", fmt.Sprintf("%s is %d and %s connected: a primary cut off with %d of them may keep its leader while one of the other %d is promoted. With %d, the primary and those that confirm are %d of %d servers, a majority",
			option, asked, are(online, "replica"), asked, online-asked, half, half+1, online+1), fmt.Sprintf("set Options.Replicas to %d", half))
	case online > 0 && asked == online:
		add(store.SeverityNote, "replicas", fmt.Sprintf("%s is %d and %s connected: when one of them is away, nobody can lead", option, asked, are(online, "replica")),
			"connect another replica")
	}
	if least, err := strconv.Atoi(n.config["min-replicas-to-write"]); err == nil && least > online && !n.olderThan(7, 0) {
		add(store.SeverityError, "min-replicas-to-write", fmt.Sprintf("is %d and %s connected: writes are refused, so nobody is granted a lease", least, are(online, "replica")),
			fmt.Sprintf("connect %s more, or set min-replicas-to-write to %d", count(least-online, "replica"), online))
	}
	if least, err := strconv.Atoi(n.config["min-replicas-to-write"]); err == nil && least > 0 && n.olderThan(7, 0) {
		add(store.SeverityWarning, "min-replicas-to-write", fmt.Sprintf("is %d, and servers before Redis 7.0 do not ask it of scripts: a primary that is cut off goes on granting and renewing leases", least),
			"upgrade the server, or set Options.Replicas")
	}
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

// slowTrip is when most round trips are so slow that it is worth a warning. One
// slow one among quick ones is no reason to move.
const slowTrip = 100 * time.Millisecond

func (v *survey) timing(n *node, add addFunc) {
	if apart := n.ahead.Abs(); n.timed && apart > time.Second {
		direction := "ahead of"
		if n.ahead < 0 {
			direction = "behind"
		}
		add(store.SeverityNote, "clock", fmt.Sprintf("the server's clock is %v %s ours. Leases do not depend on it, as long as it does not jump; after a loss of data tokens go on from it", apart.Round(100*time.Millisecond), direction),
			"keep the clocks of server and candidates in step with NTP")
	}
	if len(n.trips) == 0 {
		return
	}
	half, most := n.trips[len(n.trips)/2], n.trips[len(n.trips)-1]
	severity, fix := store.SeverityNote, ""
	if half > slowTrip {
		severity, fix = store.SeverityWarning, "run the candidates nearer to the server, or choose a longer Lease"
	}
	add(severity, "latency", fmt.Sprintf("of %s half took up to %v, the slowest %v. A request should have four times that, so RequestTimeout should be %v or more: with the default proportions, Lease %v or more",
		count(len(n.trips), "round trip"), round(half), round(most), milli(4*most), milli(24*most)), fix)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// milli rounds up, since a lease lasts whole milliseconds.
func milli(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// unwrapped is the server's own words.
func unwrapped(err error) string {
	var reply redis.Error
	if errors.As(err, &reply) {
		return reply.Error()
	}
	return err.Error()
}
