package live

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// A key without a time to live gets one, and keeps what its candidate gives it afterwards.
func TestLeftoversEnd(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() }) // nobody needs it any more
	if err := server.Set("run-1:lock", "n1"); err != nil {
		t.Fatal(err)
	}
	l := newLeftovers(client, "run-1:", "run-1:lock")
	l.expire(t.Context())
	if ttl := server.TTL("run-1:lock"); ttl != leftoverTime {
		t.Errorf("a key without a time to live lives for %v", ttl)
	}
	server.SetTTL("run-1:lock", time.Second)
	for range 2 {
		l.expire(t.Context())
	}
	if ttl := server.TTL("run-1:lock"); ttl != time.Second {
		t.Errorf("a key that its candidate gave a second lives for %v", ttl)
	}
}
