"""A candidate for Recount in Python: an elector on Redis with fencing tokens, which records its requests.

    chaos run steady crash-leader --exec 'python3 fenced_candidate.py'
"""
import itertools
import json
import os
import signal
import time
import urllib.error
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
KEYS = [ELECTION + ":lease", ELECTION + ":token"]

store = redis.Redis.from_url(
    os.environ["RECOUNT_REDIS_URL"], socket_timeout=RENEW / 2, socket_connect_timeout=RENEW / 2
)
# The lease's value is "token nonce". Each script returns the token if the lease
# is ours afterwards (release: was ours), else 0.
OURS = """
local held = redis.call('GET', KEYS[1])
local token, nonce = string.match(held or '', '^(%d+) (.*)$')
local ours = nonce == ARGV[1]
"""
SCRIPTS = {
    "acquire": store.register_script(OURS + """
if held and not ours then return 0 end
if not ours then token = redis.call('INCR', KEYS[2]) end
redis.call('SET', KEYS[1], token .. ' ' .. ARGV[1], 'PX', ARGV[2])
return tonumber(token)"""),
    "renew": store.register_script(OURS + """
if not ours then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(token)"""),
    "release": store.register_script(OURS + """
if not ours then return 0 end
redis.call('DEL', KEYS[1])
return tonumber(token)"""),
}
operations = itertools.count(1)


def say(event, at=None, **fields):
    """Tells the harness what just happened, or happened at that time, stamped on the run's clock."""
    stamp = on_the_runs_clock(time.monotonic() if at is None else at)
    print(json.dumps({"event": event, "at": stamp, **fields}), flush=True)


def on_the_runs_clock(t):
    return int(t * 1e9) - EPOCH


def ask(call, nonce, token=0):
    """Makes a request. Returns the token (0: refused, None: nobody knows) and the deadline if it took effect."""
    operation = {"op": next(operations), "call": call, "nonce": nonce, "token": token, "ttl_ns": int(LEASE * 1e9)}
    sent = time.monotonic()  # the lease counts from here, not from the answer
    say("invoke", sent, **operation)
    try:
        got = SCRIPTS[call](keys=KEYS, args=[nonce, int(LEASE * 1000)])
        say("ok" if got else "fail", **{**operation, "token": got})
    except redis.RedisError as error:
        got = None
        say("info", **operation, error=str(error))
    return got, sent + LEASE * (1 - DRIFT) - 0.001


def work(token, number):
    """Writes to what only the leader may write to. Returns whether somebody else leads since."""
    body = {"node": NODE, "election": ELECTION, "token": token, "value": f"{NODE}/{token}/{number}"}
    request = urllib.request.Request(RESOURCE + "/write", json.dumps(body).encode())
    try:
        urllib.request.urlopen(request, timeout=RENEW).close()
    except urllib.error.HTTPError as refusal:
        return refusal.code == 409
    except OSError:
        pass  # not reachable just now
    return False


class Term:
    def __init__(self, nonce, token, deadline):
        self.nonce, self.token, self.deadline = nonce, token, deadline
        self.renew_at = time.monotonic() + RENEW
        self.writes = 0
        self.report("elected")

    def report(self, event):
        say(event, token=self.token, until=on_the_runs_clock(self.deadline))

    def go_on(self):
        """Does what is due. Returns why the term is over, if it is."""
        now = time.monotonic()
        if now >= self.deadline:
            return "expired"
        if now >= self.renew_at:
            return self.renew(now)
        self.writes += 1
        if work(self.token, self.writes):
            return "superseded"
        time.sleep(WRITE)

    def renew(self, now):
        token, until = ask("renew", self.nonce, self.token)
        if token == 0:
            return "superseded"
        if token and time.monotonic() < self.deadline:
            self.deadline, self.renew_at = until, now + RENEW
            self.report("extended")
        else:
            self.renew_at = time.monotonic() + RETRY


def campaign(nonce):
    """Tries once. Returns the term, and the nonce to go on with: the same one unless we were refused."""
    token, until = ask("acquire", nonce)
    if token and time.monotonic() < until:
        return Term(nonce, token, until), nonce
    return None, new_nonce() if token == 0 else nonce


def new_nonce():
    return f"{NODE}/{uuid.uuid4()}"


def main():
    asked_to_stop = []
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.append(True))
    term, nonce = None, new_nonce()
    while not asked_to_stop:
        if term is None:
            term, nonce = campaign(nonce)
            if term is None:
                time.sleep(RETRY)
            continue
        why = term.go_on()
        if why:
            say("deposed", token=term.token, why=why)
            term, nonce = None, new_nonce()
    if term:
        say("deposed", token=term.token, why="stopped")
        ask("release", term.nonce, term.token)


main()
