"""An elector that keeps the time in the value, as the leader election of Kubernetes does: JSON that names the holder and
when it renewed, in a key without a time to live.

A candidate takes the lease if the record stayed the same for as long as the lease lasts. With "wall" it compares the time in
the record with its own wall clock instead. A script compares and sets; with "watch" a transaction that watches the key. With
"hash" the record is a hash, and scripts go by the server's clock.
"""
import datetime
import json
import sys

from term import DRIFT, ELECTION, LEASE, LEASE_MS, OWNER, Store, live, monotonic, obey, wall

store = Store()
LOCK = ELECTION + ":record"
SWAP = """
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1"""
NOW = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
"""
TAKE_HASH = NOW + """
local held = redis.call('HMGET', KEYS[1], 'holder', 'renewed_at')
if held[1] and held[1] ~= '' and held[1] ~= ARGV[1] and now - tonumber(held[2]) < tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'renewed_at', now, 'lease_ms', ARGV[2])
return 1"""
KEEP_HASH = NOW + """
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'renewed_at', now)
return 1"""
GIVE_HASH = """
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'holder', '')
return 1"""

seen, since = None, 0.0  # the record, and when it was first seen


def now():
    return datetime.datetime.fromtimestamp(wall(), datetime.timezone.utc)


def record(holder):
    return json.dumps({"holderIdentity": holder, "leaseDurationSeconds": LEASE, "renewTime": now().isoformat()})


def swap(held, new):
    if "watch" not in sys.argv:
        return store.ask("EVAL", SWAP, 1, LOCK, held or "", new) == 1
    store.ask("MULTI")
    store.ask("SET", LOCK, new)
    return store.ask("EXEC") is not None


def look():
    """Returns the record, its holder, and whether the lease is over."""
    global seen, since
    if "watch" in sys.argv:
        store.ask("WATCH", LOCK)
    held = store.ask("GET", LOCK)
    if held != seen:
        seen, since = held, monotonic()
    if held is None:
        return held, "", True
    fields = json.loads(held)
    over = monotonic() - since >= LEASE * (1 + DRIFT)
    if "wall" in sys.argv:
        over = (now() - datetime.datetime.fromisoformat(fields["renewTime"])).total_seconds() >= LEASE
    return held, fields["holderIdentity"], over


def take():
    held, holder, over = look()
    return (holder in ("", OWNER) or over) and swap(held, record(OWNER))


def keep():
    held, holder, _ = look()
    return holder == OWNER and swap(held, record(OWNER))


def give():
    held, holder, _ = look()
    return holder == OWNER and swap(held, record(""))


def script(text):
    return lambda: store.ask("EVAL", text, 1, LOCK, OWNER, LEASE_MS) == 1


obey()
if "hash" in sys.argv:
    live(script(TAKE_HASH), script(KEEP_HASH), script(GIVE_HASH))
else:
    live(take, keep, give)
