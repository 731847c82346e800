package redisstore

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// need is a right that the store needs, and a harmless use of it.
type need struct {
	right string   // as ACL SETUSER takes it, without the plus
	try   []string // the command; KEY and CHANNEL are replaced
	why   purpose
}

// purpose is what rights are needed for.
type purpose int

const (
	toElect purpose = iota
	toTellServers
	toWake
	toCount
	toLeave
	toCreate
	toLookBack
	toForget
	toConfirm
	toAudit
)

// purposes say how bad it is if a right is missing.
var purposes = [...]struct {
	severity store.Severity
	text     string
}{
	toElect:       {store.SeverityError, "nobody can be elected without"},
	toTellServers: {store.SeverityWarning, "a server that was replaced cannot be told from the one before, so a lease that it lost is protected less, without"},
	toWake:        {store.SeverityWarning, "nobody is woken when a lease is released, so the next leader comes only when its own try is due, without"},
	toCount:       {store.SeverityNote, "nobody knows how many candidates wait, so many of them try at once when a lease is released, without"},
	toLeave:       {store.SeverityNote, "a watch that ends stays subscribed until its store's last one ends, and is counted as waiting, without"},
	toCreate:      {store.SeverityNote, "Create fails without"},
	toLookBack:    {store.SeverityNote, "Candidates and History fail or stay empty, without"},
	toForget:      {store.SeverityNote, "the witness key keeps the names of elections for good, without"},
	toConfirm:     {store.SeverityError, "grants have to be confirmed (Options.Replicas, Fsynced, FsyncedReplicas), and none ever is without"},
	toAudit:       {store.SeverityError, "Options.Audit is set, and every call fails without"},
}

// needs are in such an order that each command finds the key as it needs it: a
// number that ends by itself. A command for hashes or lists is refused because
// of its type, which is after the rights were looked at, and changes nothing.
func (v *survey) needs() []need {
	const key = "KEY"
	all := []need{
		{"set", []string{"SET", key, "0", "PX", "10000"}, toElect},
		{"get", []string{"GET", key}, toElect},
		{"pexpire", []string{"PEXPIRE", key, "10000"}, toElect},
		{"pttl", []string{"PTTL", key}, toElect},
		{"time", []string{"TIME"}, toElect},
		{"hset", []string{"HSET", key, "history", ""}, toElect},
		{"hget", []string{"HGET", key, "history"}, toElect},
		{"hmget", []string{"HMGET", key, "history"}, toElect},
		{"hdel", []string{"HDEL", key, "history"}, toElect},
		{"eval", []string{"EVAL", "return 1", "1", key}, toElect},
		{"evalsha", []string{"EVALSHA", strings.Repeat("0", 40), "1", key}, toElect},
		{"info", []string{"INFO", "replication"}, toTellServers},
		{"ping", []string{"PING"}, toWake},
		{"publish", []string{"PUBLISH", "CHANNEL", "preflight"}, toWake},
		{"pubsub|numsub", []string{"PUBSUB", "NUMSUB", "CHANNEL"}, toCount},
		{"exists", []string{"EXISTS", key}, toCreate},
		{"hlen", []string{"HLEN", key}, toLookBack},
		{"hscan", []string{"HSCAN", key, "0"}, toForget},
		{"hgetall", []string{"HGETALL", key}, toLookBack},
		{"lpush", []string{"LPUSH", key, ""}, toLookBack},
		{"ltrim", []string{"LTRIM", key, "0", "0"}, toLookBack},
		{"lrange", []string{"LRANGE", key, "0", "0"}, toLookBack},
	}
	if c := v.store.confirm; c.replicas > c.disks {
		all = append(all, need{"wait", []string{"WAIT", "0", "1"}, toConfirm})
	}
	if v.store.confirm.most() > 0 {
		all = append(all, need{"client|list", []string{"CLIENT", "LIST", "TYPE", "REPLICA"}, toConfirm})
	}
	old := func(n *node) bool { return n.olderThan(7, 2) }
	if v.store.confirm.fsync() && !slices.ContainsFunc(v.nodes, old) { // of old servers it was said
		all = append(all, need{"waitaof", []string{"WAITAOF", "0", "0", "1"}, toConfirm})
	}
	if v.store.audit {
		all = append(all, need{"rpush", []string{"RPUSH", key, ""}, toAudit})
	}
	return append(all,
		// The last two leave nothing behind, whichever of the others was allowed.
		need{"pexpireat", []string{"PEXPIREAT", key, "1"}, toElect},
		need{"del", []string{"DEL", key}, toElect})
}

// alone are the commands that the store sends itself. The others stand in its scripts.
var alone = []string{"eval", "evalsha", "ping", "wait", "client|list", "waitaof"}

func (n need) inScripts() bool { return !slices.Contains(alone, n.right) }

// lacks reports whether the answer to the trial says that the store may not use the
// command. Services refuse in words of their own.
func (n need) lacks(err error) bool {
	switch {
	case !isReply(err), passing(err):
		return false
	case n.inScripts(), denied(err):
		return denied(err)
	default: // EVALSHA of an unknown script, and WAIT of a replica, are refused by every server
		return !redis.HasErrorPrefix(err, "NOSCRIPT") && !strings.Contains(errText(err), "cannot be used with replica")
	}
}

// rehearsal is what the rights and scripts are tried with, and what was refused.
type rehearsal struct {
	*survey
	at       *redis.Client
	names    keys
	missing  map[purpose][]string
	doubtful []need // refused, but not to this user: scripts may have them
	denials  []denial
	absent   bool // something was refused, and not to this user

	// The user may not use the keys, or the channels; or an answer is missing.
	keysDenied, channelsDenied, broken error

	guard, witness string // of the scratch election
	reply          any    // of the last script
	apart          error  // refused the last script with a witness of its own, and not with the guard
}

// rights tries every command that the store needs, and then its scripts.
//
// ACL DRYRUN would ask without trying, but needs a right that no elector has,
// and a server of version 7.
func (v *survey) rights(ctx context.Context) {
	t := &rehearsal{survey: v, names: v.store.keys(v.scratch), missing: map[purpose][]string{}}
	var err error
	if t.at, err = v.client.primary(ctx, t.names.lease()); err != nil {
		t.at = v.nodes[0].client // a cluster without slots refuses nothing but the rights
	}
	t.commands(ctx)
	t.subscribing(ctx)
	t.inside(ctx)
	runs := len(t.missing[toElect]) == 0 && t.keysDenied == nil && t.broken == nil
	t.report()
	if runs {
		t.scripts(ctx)
	}
	t.reportDenials()
	v.blind = slices.ContainsFunc(t.denials, func(r denial) bool { return r.command && r.why == toTellServers })
}

// commands tries each command by itself.
func (t *rehearsal) commands(ctx context.Context) {
	all := t.needs()
	pipe := t.at.Pipeline()
	cmds := make([]*redis.Cmd, len(all))
	for i, n := range all {
		args := make([]any, len(n.try))
		for j, arg := range n.try {
			switch arg {
			case "KEY":
				args[j] = t.names.lease()
			case "CHANNEL":
				args[j] = t.names.channel(t.store.opts.DB)
			default:
				args[j] = arg
			}
		}
		cmds[i] = pipe.Do(ctx, args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, n := range all {
		t.note(n, plain(cmds[i].Err()))
	}
}

// note notes the answer to a command.
func (t *rehearsal) note(n need, err error) {
	switch text := errText(err); {
	case err == nil:
	case !isReply(err):
		t.broken = err
	case !n.lacks(err):
	case strings.Contains(text, "channel"):
		t.channelsDenied = err
	case strings.Contains(text, "access") && strings.Contains(text, "key"):
		t.keysDenied = err
	case n.inScripts() && !strings.HasPrefix(text, "noperm"):
		t.doubtful = append(t.doubtful, n)
	default:
		t.lack(n.right, n.why, err)
	}
}

// lack notes a right that is missing, or a command.
func (t *rehearsal) lack(right string, why purpose, err error) {
	t.absent = t.absent || !strings.HasPrefix(errText(err), "noperm")
	t.missing[why] = append(t.missing[why], right)
}

// report says what the user may not do.
func (t *rehearsal) report() {
	if t.broken != nil {
		t.add(store.SeverityNote, "rights", "the rights could not be tried to the end: "+t.broken.Error(), "make this check again when the server answers")
	}
	t.reportMissing()
	user := t.user()
	if t.keysDenied != nil {
		t.add(store.SeverityError, "keys", "the user may not use keys that begin with "+t.store.prefix+": nobody can be elected",
			"ACL SETUSER "+user+" ~"+t.store.prefix+"*, or choose a prefix that the user may use")
	}
	if t.channelsDenied != nil {
		t.add(store.SeverityWarning, "channels", "the user may not use channels that begin with "+t.store.prefix+": nobody is woken when a lease is released, so the next leader comes only when its own try is due",
			"ACL SETUSER "+user+" &"+t.store.prefix+"*")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return strings.ToLower(unwrapped(err))
}

func (v *survey) user() string {
	if name := v.store.opts.Username; name != "" {
		return name
	}
	return "default"
}

// reportMissing adds one finding for each purpose.
func (t *rehearsal) reportMissing() {
	for i, p := range purposes {
		rights := t.missing[purpose(i)]
		if len(rights) == 0 {
			continue
		}
		slices.Sort(rights)
		fix := "ACL SETUSER " + t.user() + " +" + strings.Join(rights, " +")
		if t.absent {
			fix += "; if that changes nothing, use a server or a proxy that has " + strings.Join(rights, ", ")
		}
		t.add(p.severity, "rights", p.text+" "+strings.Join(rights, ", ")+", which the user "+t.user()+" may not execute, or the server does not have", fix)
	}
}

// subscribing tries to subscribe, and to leave.
func (t *rehearsal) subscribing(ctx context.Context) {
	sub := t.at.Subscribe(ctx) // no channel yet: no I/O
	defer func() { _ = sub.Close() }()
	for _, step := range []struct {
		right string
		do    func(context.Context, ...string) error
		why   purpose
	}{{"subscribe", sub.Subscribe, toWake}, {"unsubscribe", sub.Unsubscribe, toLeave}} {
		err := step.do(ctx, t.names.channel(t.store.opts.DB))
		if err == nil {
			_, err = sub.ReceiveTimeout(ctx, t.store.opts.ReadTimeout)
		}
		switch {
		case err == nil:
		case denied(err) && strings.Contains(errText(err), "channel"):
			t.channelsDenied = err
			return
		case isReply(err) && !passing(err):
			t.lack(step.right, step.why, err)
			return
		default:
			return // what passes is not about rights
		}
	}
}
