#!/usr/bin/env python3
"""A candidate in Python that leads on Redis as safely as one Redis allows.

    chaos run pause-leader partition-leader --exec 'python3 safe.py'

What it minds, and why:
- the lease's value is new for each term, and is compared in the same script
  that renews or deletes: a term that is over cannot touch its successor's lease
- the token is drawn in the script that grants the lease, and goes with every
  write: the resource can refuse a leader that was
- the deadline counts from before the request was sent: nobody knows when in
  between the store began to count
- it stops by its own clock, which goes on while the machine is suspended, and
  never by an answer that may not come
- the client must not repeat requests by itself, which would take unknown time

With --silent it prints nothing: what it does to the lease is seen on the wire.
"""
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
import uuid

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

ELECTION, NODE, RESOURCE = (os.environ["RECOUNT_" + name] for name in ("ELECTION", "NODE", "RESOURCE_URL"))
LEASE, RENEW, RETRY, WRITE = (float(os.environ[f"RECOUNT_{name}_MS"]) / 1000 for name in ("LEASE", "RENEW", "RETRY", "WRITE"))
DRIFT = float(os.environ["RECOUNT_DRIFT"])
EPOCH = int(os.environ["RECOUNT_EPOCH_NS"])
SILENT = "--silent" in sys.argv[1:]
TIMEOUT = RENEW / 2  # of one request

store = redis.Redis.from_url(
    os.environ["RECOUNT_REDIS_URL"], socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=Retry(NoBackoff(), 0)
)
LOCK, COUNTER = ELECTION + ":lock", ELECTION + ":token"
# Answers the token, or 0 if somebody else leads.
ACQUIRE = store.register_script("""
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])""")
RENEWAL = store.register_script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])""")
RELEASE = store.register_script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])""")


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def say(event, **fields):
    """Tells the harness what just happened, stamped on the run's clock."""
    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - EPOCH
    if not SILENT:
        print(json.dumps({"event": event, "at": at, **fields}), flush=True)


def ask(script, value):
    """Runs a script. Returns its answer (None: nobody knows) and the deadline if it took effect."""
    sent = now()
    try:
        answer = script(keys=[LOCK, COUNTER], args=[value, int(LEASE * 1000)])
    except redis.RedisError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        answer = None
    return answer, sent + LEASE * (1 - DRIFT) - 0.001


class Term:
    def __init__(self, value, token, deadline):
        self.value, self.token, self.deadline, self.writes = value, token, deadline, 0
        self.renew_at = now() + RENEW
        self.tell("elected")

    def tell(self, event):
        say(event, token=self.token, until_ms=(self.deadline - now()) * 1000)

    def go_on(self):
        """Does what is due. Returns why the term is over, once it is."""
        if now() >= self.deadline:
            return "expired"
        if now() < self.renew_at:
            return self.work()
        answer, deadline = ask(RENEWAL, self.value)
        if answer == 0:
            return "superseded"
        if answer and now() < self.deadline:  # an answer after the deadline extends nothing
            self.deadline, self.renew_at = deadline, now() + RENEW
            self.tell("extended")
        else:
            self.renew_at = now() + RETRY

    def work(self):
        """Writes to what only the leader may write to, unless that could end after the term."""
        self.writes += 1
        body = {"node": NODE, "election": ELECTION, "token": self.token, "value": f"{NODE}/{self.token}/{self.writes}"}
        request = urllib.request.Request(RESOURCE + "/write", json.dumps(body).encode())
        try:
            if now() + TIMEOUT < self.deadline:
                urllib.request.urlopen(request, timeout=TIMEOUT).close()
        except urllib.error.HTTPError as refusal:
            if refusal.code == 409:
                return "superseded"
        except OSError:
            pass  # not reachable just now
        time.sleep(WRITE)


def main():
    asked_to_stop = []
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.append(True))
    term = None
    while not asked_to_stop:
        if term:
            why = term.go_on()
            if why:
                say("deposed", token=term.token, why=why)
                term = None
            continue
        value = f"{NODE}/{uuid.uuid4()}"
        token, deadline = ask(ACQUIRE, value)
        if token and now() < deadline:
            term = Term(value, token, deadline)
            continue
        if token != 0:
            ask(RELEASE, value)  # it may have been granted, and nobody would know
        time.sleep(RETRY)
    if term:
        say("deposed", token=term.token, why="resigned")  # first, for the next one may lead at once
        ask(RELEASE, term.value)


main()
