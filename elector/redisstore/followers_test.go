package redisstore

import (
	"fmt"
	"testing"
	"time"
)

// A replica counts for a grant if it has followed the server for a lease: by the age that
// the server tells, by what the store saw itself, or because somebody vouched for it.
func TestYoungReplicas(t *testing.T) {
	start := time.Now()
	line := func(number, port, age int) string {
		return fmt.Sprintf("id=%d addr=10.0.0.1:%d laddr=10.0.0.2:6379 fd=8 name= age=%d idle=0 flags=S db=0\n", number, port, age)
	}
	const lease = 5 * time.Second
	for _, test := range []struct {
		what          string
		before, list  string // what was listed when the time is start, and now
		after         time.Duration
		vouched       string
		sentAt, young int // seconds after start; how many are young
	}{
		{"none", "", "", 0, "", 0, 0},
		{"one that has just come", "", line(7, 1, 0), 0, "", 0, 1},
		{"one that has been there for long", "", line(7, 1, 60), 0, "", 0, 0},
		{"one that has been there for a lease, to the second", "", line(7, 1, 5), 0, "", 0, 1},
		{"and a second more", "", line(7, 1, 6), 0, "", 0, 0},
		{"not if the reply took as long", "", line(7, 1, 6), 2 * time.Second, "", 0, 1},
		{"one that was seen a lease ago", line(7, 1, 0), line(7, 1, 5), lease, "", 5, 0},
		{"but for a moment", line(7, 1, 0), line(7, 1, 4), 4 * time.Second, "", 4, 1},
		{"one that has come back has another number", line(7, 1, 60), line(8, 1, 5), lease, "", 5, 1},
		{"another server's of that number is younger", line(7, 1, 60), line(7, 1, 0), lease, "", 5, 1},
		{"one that was vouched for", "", line(7, 1, 0), 0, "6,7", 0, 0},
		{"and not one with a part of its number", "", line(7, 1, 0), 0, "77", 0, 1},
		{"of two the one that has just come", "", line(7, 1, 60) + line(9, 2, 1), 0, "", 0, 1},
		{"what is no list", "", "junk\n", 0, "", 0, 1},
	} {
		var f followers
		if test.before != "" {
			f.young(test.before, "", start, start, lease)
		}
		got := f.young(test.list, test.vouched, start.Add(time.Duration(test.sentAt)*time.Second), start.Add(max(test.after, time.Duration(test.sentAt)*time.Second)), lease)
		if got != int64(test.young) {
			t.Errorf("%s: %d are young, want %d", test.what, got, test.young)
		}
	}
}
