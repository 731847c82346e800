"""A candidate for Recount in Python: an elector on Redis without fencing tokens.

    chaos run steady crash-leader --exec 'python3 candidate.py'
"""
import json
import os
import signal
import time
import urllib.request
import uuid

import redis

ELECTION = os.environ["RECOUNT_ELECTION"]  # also what our keys begin with
NODE = os.environ["RECOUNT_NODE"]
LEASE, RENEW, RETRY = (float(os.environ[f"RECOUNT_{name}_MS"]) / 1000 for name in ("LEASE", "RENEW", "RETRY"))
WRITE = float(os.environ["RECOUNT_WRITE_MS"]) / 1000
DRIFT = float(os.environ["RECOUNT_DRIFT"])
EPOCH = int(os.environ["RECOUNT_EPOCH_NS"])
RESOURCE = os.environ["RECOUNT_RESOURCE_URL"]

store = redis.Redis.from_url(
    os.environ["RECOUNT_REDIS_URL"], socket_timeout=RENEW / 2, socket_connect_timeout=RENEW / 2
)
# Each returns 1 if the lease is ours afterwards (release: was ours), else 0.
acquire = store.register_script("""
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1""")
renew = store.register_script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])""")
release = store.register_script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])""")


def say(event, **fields):
    """Tells the harness what just happened, stamped on the run's clock."""
    print(json.dumps({"event": event, "at": on_the_runs_clock(time.monotonic()), **fields}), flush=True)


def on_the_runs_clock(t):
    return int(t * 1e9) - EPOCH


def ask(script, value):
    """Runs a script. Returns whether it succeeded (None: nobody knows) and the deadline if it did."""
    sent = time.monotonic()  # the lease counts from here, not from the answer
    try:
        done = script(keys=[ELECTION + ":lease"], args=[value, int(LEASE * 1000)]) == 1
    except redis.RedisError:
        done = None
    return done, sent + LEASE * (1 - DRIFT) - 0.001


def work(number):
    """Writes to what only the leader may write to."""
    body = json.dumps({"node": NODE, "election": ELECTION, "value": f"{NODE}/{number}"}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(RESOURCE + "/write", body), timeout=RENEW).close()
    except OSError:
        pass  # refused, or not reachable just now


def main():
    asked_to_stop = []
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.append(True))
    value = None  # of the lease, while we have it or may have it
    leading, deadline, renew_at, writes = False, 0.0, 0.0, 0
    while not asked_to_stop:
        now = time.monotonic()
        if not leading:
            value = value or f"{NODE}/{uuid.uuid4()}"  # a new one for each term
            done, until = ask(acquire, value)
            if done and time.monotonic() < until:
                leading, deadline, renew_at = True, until, time.monotonic() + RENEW
                say("elected", until=on_the_runs_clock(deadline))
            elif done is False:
                value = None
            if not leading:
                time.sleep(RETRY)
        elif now >= deadline:
            leading, value = False, None
            say("deposed", why="expired")
        elif now >= renew_at:
            done, until = ask(renew, value)
            if done is False:
                leading, value = False, None
                say("deposed", why="superseded")
            elif done and time.monotonic() < deadline:
                deadline, renew_at = until, now + RENEW
                say("extended", until=on_the_runs_clock(deadline))
            else:
                renew_at = time.monotonic() + RETRY
        else:
            writes += 1
            work(writes)
            time.sleep(WRITE)
    if leading:
        say("deposed", why="stopped")
        ask(release, value)


main()
