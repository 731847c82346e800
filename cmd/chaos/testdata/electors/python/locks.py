"""An elector with two locks, taken in a fixed order: a candidate leads while it has both, and no more when it has lost one.

With "first" it renews the first lock only and does not look at the second one, which ends while it leads.
"""
import sys
import uuid

from term import ELECTION, LEASE_MS, NODE, Store, live, obey

store = Store()
FIRST, SECOND = ELECTION + ":lock:first", ELECTION + ":lock:second"
KEEP = """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
GIVE = """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])"""
renewed = [FIRST] if "first" in sys.argv else [FIRST, SECOND]
value = None  # of the locks that are ours, or may be; a new one for each attempt


def take():
    global value
    if value:
        give()  # what is left of a term or an attempt
    value = f"{NODE}-{uuid.uuid4().hex}"
    if store.ask("SET", FIRST, value, "NX", "PX", LEASE_MS) is None:
        value = None
        return False
    if store.ask("SET", SECOND, value, "NX", "PX", LEASE_MS) is None:
        give()
        return False
    return True


def keep():
    return all(kept == 1 for kept in store.pipeline([("EVAL", KEEP, 1, key, value, LEASE_MS) for key in renewed]))


def give():
    global value
    store.pipeline([("EVAL", GIVE, 1, key, value) for key in (SECOND, FIRST)])
    value = None


obey()
live(take, keep, give)
