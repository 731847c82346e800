package inspection

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// tryRights tries every command that is needed. What sets the key comes first and alone:
// without it the others would make one that stays.
func (i *visit) tryRights(ctx context.Context) error {
	name := i.need.Prefix + RunMark + "inspection-" + rand.Text()
	denied := map[string]bool{}
	first := slices.IndexFunc(commands, func(c command) bool { return c.right == "set" }) + 1
	if err := i.try(ctx, name, commands[:first], denied); err != nil || denied["set"] {
		return errors.Join(err, i.missing(denied))
	}
	if err := i.try(ctx, name, commands[first:], denied); err != nil {
		return err
	}
	if !i.need.Clean {
		if err := i.subscribe(ctx, name, denied); err != nil {
			return err
		}
	}
	return i.missing(denied)
}

// try tries some commands, and adds to denied those that the user may not execute.
func (i *visit) try(ctx context.Context, name string, some []command, denied map[string]bool) error {
	var tried []command
	var answers []*redis.Cmd
	words := strings.NewReplacer("KEY", name, "REGISTER", Register(i.need.Prefix))
	_, _ = i.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
		for _, c := range some {
			if c.try == nil || !c.needed(i.need) {
				continue
			}
			var call []any
			for _, word := range c.try {
				call = append(call, words.Replace(word))
			}
			tried = append(tried, c)
			answers = append(answers, p.Do(ctx, call...))
		}
		return nil
	})
	for n, answer := range answers {
		err := answer.Err()
		if err != nil && !isReply(err) {
			return i.lost(err)
		}
		switch text := lower(err); {
		case !noPermission(text):
			if why := i.refusal(err); why != nil {
				return why
			}
		case strings.Contains(text, "key") && strings.Contains(text, "access"):
			return i.keysDenied()
		case strings.Contains(text, "channel"):
			return i.channelsDenied()
		default:
			denied[tried[n].right] = true
		}
	}
	return nil
}

// subscribe tries to listen to a channel, and to leave it.
func (i *visit) subscribe(ctx context.Context, channel string, denied map[string]bool) error {
	sub := i.client.Subscribe(ctx) // no channel yet: no I/O
	defer func() { _ = sub.Close() }()
	for _, step := range []struct {
		right string
		do    func(context.Context, ...string) error
	}{{"subscribe", sub.Subscribe}, {"unsubscribe", sub.Unsubscribe}} {
		err := step.do(ctx, channel)
		if err == nil {
			_, err = sub.Receive(ctx)
		}
		switch text := lower(err); {
		case err == nil:
		case noPermission(text) && strings.Contains(text, "channel"):
			return i.channelsDenied()
		case noPermission(text):
			denied[step.right] = true
		case isReply(err):
			return i.refusal(err)
		default:
			return i.lost(err)
		}
	}
	return nil
}

func (i *visit) keysDenied() error {
	return i.unsuitable("does not allow this user keys that begin with %s%s; %s", i.need.Prefix, RunMark, i.advice())
}

func (i *visit) channelsDenied() error {
	return i.unsuitable("does not allow this user channels that begin with %s%s; %s", i.need.Prefix, RunMark, i.advice())
}

// missing says which commands the user may not execute.
func (i *visit) missing(denied map[string]bool) error {
	if len(denied) == 0 {
		return nil
	}
	var names []string
	for _, c := range commands {
		if denied[c.right] && !slices.Contains(names, c.right) {
			names = append(names, c.right)
		}
	}
	return i.unsuitable("does not allow this user to execute %s; %s", strings.ToUpper(strings.ReplaceAll(strings.Join(names, ", "), "|", " ")), i.advice())
}

// advice says how the user gets its rights.
func (i *visit) advice() string {
	words := "give it the rights that this command prints: chaos acl"
	if i.need.Prefix != DefaultPrefix {
		words += " --prefix " + quoted(i.need.Prefix)
	}
	if i.need.Own {
		words += " --own-this-redis"
	}
	if i.user != "" {
		words += " --user " + quoted(i.user)
	}
	return words
}

// refusal puts into words why a server that let us in does not do what a run needs; nil
// if the answer says nothing of that kind: a command may be refused because the key is
// of another type, which is after the rights were looked at.
func (i *visit) refusal(err error) error {
	text := lower(err)
	begins := func(code string) bool { return strings.HasPrefix(text, code) }
	switch {
	case text == "":
		return nil
	case noPermission(text): // of INFO, which comes first
		return i.missing(map[string]bool{"info": true})
	case begins("readonly"):
		return i.unsuitable("is a replica, and takes no writes; give its primary")
	case begins("moved "), begins("ask "), begins("clusterdown"), begins("crossslot"):
		return i.unsuitable("is a node of a cluster, which has only some of the keys; give a Redis that is no cluster: scenarios in a cluster start one of their own")
	case begins("oom"):
		return i.unsuitable("takes no writes, because its memory is full (OOM); raise maxmemory there, or use another Redis")
	case begins("noreplicas"):
		return i.unsuitable("takes no writes, because too few replicas are connected (NOREPLICAS); connect them, or lower min-replicas-to-write there")
	case strings.Contains(text, "unknown command"):
		name, _, _ := strings.Cut(text, ",")
		return i.unsuitable("does not have every command that a run needs (%s); use a Redis whose commands are not renamed", name)
	}
	return nil
}

// isReply reports whether an error is an answer of the server.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func noPermission(text string) bool { return strings.HasPrefix(text, "noperm") }

// lower is an error's text, for comparison.
func lower(err error) string {
	if err == nil || errors.Is(err, redis.Nil) {
		return ""
	}
	return strings.ToLower(err.Error())
}
