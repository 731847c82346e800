"""An elector with the lock that Redis's documentation once described: SETNX and GETSET, with the end of the lease as its value.

A holder that renews in time is safe: nobody takes the lock before the end that it wrote, whatever others wrote over it.
"""
import time

from term import ELECTION, LEASE, Store, live

store = Store()
LOCK = ELECTION + ":lock"
ends = 0  # when our lease is over, by the wall clock


def take():
    global ends
    over = time.time() + LEASE
    if store.ask("SETNX", LOCK, f"{over:.3f}") == 1:
        ends = over
        return True
    held = store.ask("GET", LOCK)
    if held is None or float(held) >= time.time() - 0.005:
        return False
    over = time.time() + LEASE
    before = store.ask("GETSET", LOCK, f"{over:.3f}")
    if before is not None and float(before) >= time.time() - 0.005:
        return False
    ends = over
    return True


def keep():
    global ends
    over = time.time() + LEASE
    store.ask("GETSET", LOCK, f"{over:.3f}")
    if time.time() >= ends - 0.005:
        return False
    ends = over
    return True


def give():
    return time.time() < ends - 0.1 and store.ask("SET", LOCK, f"{time.time() - 1:.3f}") == "OK"


live(take, keep, give)
