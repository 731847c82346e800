"""An elector that shares out three shards, with a lease for each. It leads the election while it has the second shard.

A process takes at most one shard at a time, and each begins with another one. So the shards have leaders of their own.
"""
import zlib

from term import DRIFT, ELECTION, LEASE, LEASE_MS, NODE, OWNER, Store, live, monotonic, obey

store = Store()
SHARDS = [f"{ELECTION}:shard:{number}" for number in range(3)]
OURS = SHARDS[1]
KEEP = """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
GIVE = """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])"""
start = zlib.crc32(NODE.encode()) % 3
order = SHARDS[start:] + SHARDS[:start]
ends = {}  # when the lease of each shard is over that this process has


def turn():
    """Renews what this process has, and takes one shard more if one is free. Returns whether it has ours."""
    sent = monotonic()
    had = [shard for shard in ends if sent < ends[shard]]
    kept = store.pipeline([("EVAL", KEEP, 1, shard, OWNER, LEASE_MS) for shard in had])
    ends.clear()
    ends.update({shard: sent + LEASE * (1 - DRIFT) for shard, answer in zip(had, kept) if answer == 1})
    for shard in order:
        if shard not in ends and shard not in had and store.ask("SET", shard, OWNER, "NX", "PX", LEASE_MS) == "OK":
            ends[shard] = sent + LEASE * (1 - DRIFT)
            break
    return OURS in ends


def give():
    store.pipeline([("EVAL", GIVE, 1, shard, OWNER) for shard in ends])


obey()
live(take=turn, keep=turn, give=give)
