#!/usr/bin/env python3
"""A candidate in Python as many programs do it. Do not copy it.

    chaos run pause-leader partition-leader --exec 'python3 unsafe.py'

What is wrong with it:
- EXPIRE renews whatever lease is there, also somebody else's
- DEL deletes whatever lease is there, also somebody else's
- is_leader stays true until an answer says otherwise, however long that takes
- writes carry no token: the resource cannot tell a leader from one that was
"""
import json
import os
import signal
import time
import urllib.request

import redis

NODE = os.environ["RECOUNT_NODE"]
KEY = os.environ["RECOUNT_ELECTION"] + ":leader"
LEASE, RENEW, RETRY, WRITE = (float(os.environ[f"RECOUNT_{name}_MS"]) / 1000 for name in ("LEASE", "RENEW", "RETRY", "WRITE"))
SECONDS = max(1, round(LEASE))  # EX takes whole ones

store = redis.Redis.from_url(os.environ["RECOUNT_REDIS_URL"], socket_timeout=RENEW / 2, socket_connect_timeout=RENEW / 2)


class Candidate:
    is_leader = False
    stopping = False
    renew_at = 0.0

    def become(self, is_leader, why="superseded"):
        if is_leader and not self.is_leader:
            self.say("elected")
        elif self.is_leader and not is_leader:
            self.say("deposed", why=why)
        self.is_leader = is_leader

    def say(self, event, **fields):
        print(json.dumps({"event": event, **fields}), flush=True)

    def campaign(self):
        try:
            if store.set(KEY, NODE, nx=True, ex=SECONDS):
                self.become(True)
        except redis.RedisError:
            pass  # try again later

    def renew(self):
        self.renew_at = time.time() + RENEW
        try:
            if not store.expire(KEY, SECONDS):
                self.become(False)
        except redis.RedisError:
            pass  # Redis will be back, and the lease still ours

    def work(self):
        body = json.dumps({"node": NODE, "election": os.environ["RECOUNT_ELECTION"], "value": f"{NODE} at {time.time()}"})
        try:
            urllib.request.urlopen(os.environ["RECOUNT_RESOURCE_URL"] + "/write", body.encode(), timeout=RENEW).close()
        except OSError:
            pass
        time.sleep(WRITE)

    def run(self):
        while not self.stopping:
            if not self.is_leader:
                self.campaign()
                time.sleep(RETRY)
            elif time.time() >= self.renew_at:
                self.renew()
            else:
                self.work()
        if self.is_leader:
            self.become(False, "resigned")
            store.delete(KEY)

    def stop(self, *_):
        self.stopping = True


candidate = Candidate()
signal.signal(signal.SIGTERM, candidate.stop)
candidate.run()
