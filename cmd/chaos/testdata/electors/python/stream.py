"""An elector with a stream, whose last entry says who leads and until when. With "race" it looks first and writes then."""
import sys
import time

from term import ELECTION, LEASE, LEASE_MS, NODE, OWNER, Store, live

store = Store()
STREAM = ELECTION + ":terms"
TAKE = """local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last and last[2][2] ~= ARGV[1] and tonumber(last[2][4]) > now then return 0 end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', '100', '*', 'owner', ARGV[1], 'until', string.format('%d', now + ARGV[2])) return 1"""
KEEP = """local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not last or last[2][2] ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', '100', '*', 'owner', ARGV[1], 'until', string.format('%d', now + ARGV[2])) return 1"""


def last():
    entries = store.ask("XREVRANGE", STREAM, "+", "-", "COUNT", 1)
    return (entries[0][1][1], int(entries[0][1][3])) if entries else (None, 0)


def add(seconds):
    store.ask("XADD", STREAM, "MAXLEN", "~", 100, "*", "owner", OWNER, "until", int((time.time() + seconds) * 1000))
    return True


def take():
    owner, until = last()
    if owner not in (None, OWNER) and until > time.time() * 1000:
        return False
    time.sleep(0.03)
    return add(LEASE)


def keep():
    return last()[0] == OWNER and add(LEASE)


def give():
    return add(0)


if "race" in sys.argv:
    live(take, keep, give)
else:
    live(
        take=lambda: store.ask("EVAL", TAKE, 1, STREAM, OWNER, LEASE_MS) == 1,
        keep=lambda: store.ask("EVAL", KEEP, 1, STREAM, OWNER, LEASE_MS) == 1,
        give=lambda: store.ask("EVAL", KEEP, 1, STREAM, OWNER, 0) == 1,
    )
