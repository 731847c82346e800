package redisstore

import (
	"testing"
	"time"

	"github.com/recount-io/recount/elector/storetest"
)

// The store keeps the contract of every store, with and without an audit, and with
// keys that stay or expire.
func TestConformance(t *testing.T) {
	for _, o := range []Options{{}, {Audit: true, Unprotected: true}, {Audit: true, Expire: time.Hour}} {
		eachServer(t, func(t *testing.T, r *server) {
			for _, c := range storetest.Cases() {
				t.Run(c.Name, func(t *testing.T) {
					r.do(t, "FLUSHALL")
					s := r.open(t, o)
					t.Cleanup(func() { tellAudit(t, r, s) })
					c.Run(t, s, func(d time.Duration) { r.advance(t, d) })
				})
			}
		})
	}
}

// tellAudit shows what the server executed when, if the case failed: a lease
// that ended because this machine was too slow looks like one that a store
// lost.
func tellAudit(t *testing.T, r *server, s *Store) {
	t.Helper()
	if !t.Failed() || !s.audit {
		return
	}
	entries, err := s.DrainAudit(r.ctx, "storetest")
	t.Logf("the server's audit (%v):", err)
	for _, e := range entries {
		t.Logf("%s %s %s token %d applied %v", e.Time.Format("05.000000"), e.Call, e.Nonce, e.Token, e.Applied)
	}
}

// shorten makes every key end so much earlier, and what the scripts wrote of
// them, which does to leases what the passing of that time does.
const shorten = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - tonumber(ARGV[1])) end
  local fields = redis.call('TYPE', key).ok == 'hash' and redis.call('HGETALL', key) or {}
  for i = 1, #fields, 2 do
    local name = fields[i]
    if string.find(name, '^of ') or name == 'unsure' or name == 'reserved' or name == 'since' and fields[i + 1] ~= '0' then
      redis.call('HINCRBY', key, name, -tonumber(ARGV[1]))
    end
  end
end
return 1`

// advance lets the server's time pass without waiting for it: on a slow
// machine a real wait lasts longer than it should, and leases end in it.
func (r *server) advance(t *testing.T, d time.Duration) {
	t.Helper()
	r.do(t, "EVAL", shorten, 0, max(d.Milliseconds(), 1))
}
