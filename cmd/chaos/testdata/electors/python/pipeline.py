"""An elector that sends much at once, by RESP3. Its bug: it does not wait for what SETNX says before it sends EXPIRE."""
import math

from term import ELECTION, LEASE, NODE, OWNER, Store, live

store = Store(greeting=[("HELLO", "3"), ("CLIENT", "SETNAME", NODE), ("SELECT", "5")])
LOCK = ELECTION + ":lock"
SECONDS = math.ceil(LEASE)
alive = [("CLIENT", "REPLY", "SKIP"), ("SETEX", f"{ELECTION}:alive:{NODE}", 10, OWNER)]


def take():
    got = store.pipeline([("SELECT", "0"), *alive, ("SETNX", LOCK, OWNER), ("EXPIRE", LOCK, SECONDS), ("GET", LOCK)], silent=2)
    return got[1] == 1 or got[3] == OWNER


def keep():
    held, _ = store.pipeline([*alive, ("GET", LOCK), ("HELLO", "3")], silent=2)
    return held == OWNER and store.ask("EXPIRE", LOCK, SECONDS) == 1


def give():
    return store.ask("GET", LOCK) == OWNER and store.ask("DEL", LOCK) == 1


live(take, keep, give)
