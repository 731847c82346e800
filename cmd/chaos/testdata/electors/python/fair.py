"""An elector with a queue: each candidate has a place and a heartbeat, and the first one that is alive takes the lease.

The leader keeps its place until it goes. A dead candidate loses its place and its lease: by the server's clock that is over by
then. With "skips" each candidate says who is dead by its own wall clock.
"""
import itertools
import sys

from term import ELECTION, LEASE_MS, OWNER, Store, live, obey, wall

store = Store()
LOCK = ELECTION + ":lock"
KEYS = [LOCK, *(ELECTION + name for name in (":queue", ":alive", ":places", ":tokens"))]
NOW = """
local now = tonumber(ARGV[4])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
"""
TAKE = NOW + """
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[4]), ARGV[1])
end
redis.call('ZADD', KEYS[3], now, ARGV[1])
local first
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local beat = redis.call('ZSCORE', KEYS[3], member)
  if beat and now - beat <= tonumber(ARGV[3]) then
    first = member
    break
  end
  redis.call('ZREM', KEYS[2], member)
  redis.call('ZREM', KEYS[3], member)
  local held = redis.call('GET', KEYS[1])
  if held and string.match(held, '^(.*)/') == member then redis.call('DEL', KEYS[1]) end
end
if first ~= ARGV[1] then return 0 end
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then return 0 end
return redis.call('INCR', KEYS[5])"""
KEEP = NOW + """
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
redis.call('ZADD', KEYS[3], now, ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])"""
GIVE = """
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
return redis.call('DEL', KEYS[1])"""
attempts = itertools.count(1)
value = None  # of the lease, a new one for each attempt


def ask(script):
    now = int(wall() * 1000) if "skips" in sys.argv else ""
    return store.ask("EVAL", script, len(KEYS), *KEYS, OWNER, value, LEASE_MS, now)


def take():
    global value
    value = f"{OWNER}/{next(attempts)}"
    return ask(TAKE) or False


obey()
live(take, keep=lambda: ask(KEEP) == 1, give=lambda: ask(GIVE) == 1)
