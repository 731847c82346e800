"""An elector with a sorted set: the first member leads, its score is when its lease ends. It believes on although its lease is over."""
import time

from term import ELECTION, LEASE, NODE, Store, live

store = Store()
QUEUE = ELECTION + ":queue"


def now():
    seconds, micros = store.ask("TIME")
    return int(seconds) * 1000 + int(micros) // 1000


def take():
    at = now()
    store.ask("ZREMRANGEBYSCORE", QUEUE, "-inf", at)
    if store.ask("ZCARD", QUEUE) > 0:
        return False
    store.ask("ZADD", QUEUE, "NX", at + LEASE * 1000, NODE)
    time.sleep(0.05)  # another one that saw it empty as well is there now
    if store.ask("ZRANGE", QUEUE, 0, 0) == [NODE]:
        return True
    give()
    return False


def keep():
    if store.ask("ZRANGE", QUEUE, 0, 0) != [NODE]:
        return False
    store.ask("ZADD", QUEUE, "XX", "GT", now() + LEASE * 1000, NODE)
    return True


def give():
    return store.ask("ZREM", QUEUE, NODE) == 1


live(take, keep, give, deadline=False)
