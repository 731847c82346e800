package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// followers remembers since when the replicas of a server follow it.
//
// A replica that moves has confirmed leases of its former primary until then. It counts
// for a grant of the new one only when those are over. What Redis counts of replicas can
// be set back (CONFIG RESETSTAT), and a replica that comes back has the address of before;
// each connection of a replica has a number of its own, which the server never uses again.
type followers struct {
	mu   sync.Mutex
	seen map[string]time.Time // by the connection's number and address: when it was there
}

// follower is the connection of a replica, as CLIENT LIST tells it.
type follower struct {
	number, addr string
	age          time.Duration // in whole seconds
}

func listFollowers(ctx context.Context, client interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
},
) *redis.Cmd {
	return client.Do(ctx, "CLIENT", "LIST", "TYPE", "REPLICA")
}

func followersOf(list string) (all []follower) {
	for line := range strings.Lines(list) {
		var f follower
		for _, field := range strings.Fields(line) {
			switch name, value, _ := strings.Cut(field, "="); name {
			case "id":
				f.number = value
			case "addr":
				f.addr = value
			case "age":
				seconds, _ := strconv.ParseInt(value, 10, 32) // else it is young
				f.age = time.Duration(seconds) * time.Second
			}
		}
		all = append(all, f)
	}
	return all
}

// young returns how many replicas of the list, which was read at the moment now, may have
// come within the time before the moment of sending. The numbers of those that somebody
// vouched for are separated by commas. What this store has seen itself is more exact than
// whole seconds, but another server may have had a connection of the same number and
// address: the age must bear it out.
func (f *followers) young(list, vouched string, sent, now time.Time, within time.Duration) (count int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen, trusted := map[string]time.Time{}, strings.Split(vouched, ",")
	for _, r := range followersOf(list) {
		key := r.number + " " + r.addr
		first, known := f.seen[key]
		if !known || r.age+2*time.Second < now.Sub(first) {
			first = now
		}
		seen[key] = first
		old := sent.Sub(first) >= within || r.age-time.Second >= within+now.Sub(sent)
		if !old && (r.number == "" || !slices.Contains(trusted, r.number)) {
			count++
		}
	}
	f.seen = seen
	return count
}
