package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
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
	severity elector.Severity
	text     string
}{
	toElect:       {elector.SeverityError, "nobody can be elected without"},
	toTellServers: {elector.SeverityWarning, "a server that was replaced cannot be told from the one before, so a lease that it lost is protected less, without"},
	toWake:        {elector.SeverityWarning, "nobody is woken when a lease is released, so the next leader comes only when its own try is due, without"},
	toCount:       {elector.SeverityNote, "nobody knows how many candidates wait, so many of them try at once when a lease is released, without"},
	toLeave:       {elector.SeverityNote, "a watch that ends stays subscribed until its store's last one ends, and is counted as waiting, without"},
	toCreate:      {elector.SeverityNote, "Create fails without"},
	toLookBack:    {elector.SeverityNote, "Candidates and History fail or stay empty, without"},
	toForget:      {elector.SeverityNote, "the witness key keeps the names of elections for good, without"},
	toConfirm:     {elector.SeverityError, "grants have to be confirmed (Options.Replicas, Fsynced, FsyncedReplicas), and none ever is without"},
	toAudit:       {elector.SeverityError, "Options.Audit is set, and every call fails without"},
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
		{"info", []string{"INFO", "server"}, toTellServers},
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

// rights tries every command that the store needs.
//
// ACL DRYRUN would ask without trying, but needs a right that no elector has,
// and a server of version 7.
func (v *survey) rights(ctx context.Context) {
	names := v.store.keys(v.scratch)
	at, err := v.client.primary(ctx, names.lease())
	if err != nil {
		at = v.nodes[0].client // a cluster without slots refuses nothing but the rights
	}
	all := v.needs()
	pipe := at.Pipeline()
	cmds := make([]*redis.Cmd, len(all))
	for i, n := range all {
		args := make([]any, len(n.try))
		for j, arg := range n.try {
			switch arg {
			case "KEY":
				args[j] = names.lease()
			case "CHANNEL":
				args[j] = names.channel(v.store.opts.DB)
			default:
				args[j] = arg
			}
		}
		cmds[i] = pipe.Do(ctx, args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	missing := map[purpose][]string{}
	var keysDenied, channelsDenied, broken error
	for i, n := range all {
		err := plain(cmds[i].Err())
		switch text := errText(err); {
		case err == nil:
		case !isReply(err):
			broken = err
		case !denied(err):
		case strings.Contains(text, "channel"):
			channelsDenied = err
		case strings.Contains(text, "access") && strings.Contains(text, "key"):
			keysDenied = err
		default:
			missing[n.why] = append(missing[n.why], n.right)
		}
	}
	channelsDenied = errors.Join(channelsDenied, v.subscribing(ctx, at, names.channel(v.store.opts.DB), missing))
	if broken != nil {
		v.add(elector.SeverityNote, "rights", "the rights could not be tried to the end: "+broken.Error(), "make this check again when the server answers")
	}
	v.missing(missing)
	user := v.user()
	if keysDenied != nil {
		v.add(elector.SeverityError, "keys", "the user may not use keys that begin with "+v.store.prefix+": nobody can be elected",
			"ACL SETUSER "+user+" ~"+v.store.prefix+"*, or choose a prefix that the user may use")
	}
	if channelsDenied != nil {
		v.add(elector.SeverityWarning, "channels", "the user may not use channels that begin with "+v.store.prefix+": nobody is woken when a lease is released, so the next leader comes only when its own try is due",
			"ACL SETUSER "+user+" &"+v.store.prefix+"*")
	}
	if len(missing[toElect]) == 0 && keysDenied == nil && broken == nil {
		v.scripts(ctx)
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

// missing adds one finding for each purpose.
func (v *survey) missing(missing map[purpose][]string) {
	for i, p := range purposes {
		rights := missing[purpose(i)]
		if len(rights) == 0 {
			continue
		}
		slices.Sort(rights)
		v.add(p.severity, "rights", p.text+" "+strings.Join(rights, ", ")+", which the user "+v.user()+" may not execute, or the server does not have",
			"ACL SETUSER "+v.user()+" +"+strings.Join(rights, " +"))
	}
}

// subscribing tries to subscribe, and to leave. The error says that the channel
// is forbidden.
func (v *survey) subscribing(ctx context.Context, at *redis.Client, channel string, missing map[purpose][]string) error {
	sub := at.Subscribe(ctx) // no channel yet: no I/O
	defer func() { _ = sub.Close() }()
	for _, step := range []struct {
		right string
		do    func(context.Context, ...string) error
		why   purpose
	}{{"subscribe", sub.Subscribe, toWake}, {"unsubscribe", sub.Unsubscribe, toLeave}} {
		err := step.do(ctx, channel)
		if err == nil {
			_, err = sub.ReceiveTimeout(ctx, v.store.opts.ReadTimeout)
		}
		switch {
		case err == nil:
		case denied(err) && strings.Contains(errText(err), "channel"):
			return err
		case denied(err):
			missing[step.why] = append(missing[step.why], step.right)
			return nil
		default:
			return nil // what passes is not about rights
		}
	}
	return nil
}

// scripts runs one that reads only, as the elector does.
func (v *survey) scripts(ctx context.Context) {
	_, err := v.store.Leader(ctx, v.scratch)
	var fatal *elector.FatalError
	if errors.As(err, &fatal) {
		v.add(elector.SeverityError, "scripts", "the store's scripts cannot be run: "+fatal.Err.Error(), fatal.Fix)
	}
}
