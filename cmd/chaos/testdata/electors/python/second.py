"""An elector whose leader starts a second process, which renews the lease while the first one works.

The second process writes into a pipe from when each lease counts. The first one stops when the pipe ends, or when it read nothing
until its deadline. With "blind" it does not look, and believes until it is asked to go. With "dies" the second process ends early.
"""
import os
import signal
import struct
import sys
import uuid

from term import ELECTION, LEASE_MS, NODE, RENEW, RETRY, Store, live, obey, sleep, tried

store = Store()
LOCK = ELECTION + ":lock"
KEEP = """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
GIVE = """if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])"""
value = None  # of the lease, a new one for each attempt
child, reports = 0, 0  # the second process, and our end of the pipe


def renew(pipe):
    """Is the second process, until the lease is lost or nobody reads what it says."""
    own, kept, renewals = Store(), True, 0
    while kept is not False and not ("dies" in sys.argv and renewals == 3):
        sleep(RENEW if kept else RETRY)
        kept, sent = tried(lambda: own.ask("EVAL", KEEP, 1, LOCK, value, LEASE_MS) == 1)
        if kept:
            renewals += 1
            os.write(pipe, struct.pack("d", sent))


def start():
    global child, reports
    reports, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reports)
            renew(pipe)
        finally:
            os._exit(0)
    os.close(pipe)
    os.set_blocking(reports, False)


def end():
    global child
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reports)
        child = 0


def take():
    global value
    if value:
        give()  # what is left of a term or an attempt
    value = f"{NODE}-{uuid.uuid4().hex}"
    if store.ask("SET", LOCK, value, "NX", "PX", LEASE_MS) is None:
        value = None
        return False
    start()
    return True


def keep():
    sent = None
    while True:
        try:
            report = os.read(reports, 8)
        except BlockingIOError:
            return None if sent is None else (True, sent)
        if not report:
            return False
        sent, = struct.unpack("d", report)


def give():
    global value
    end()
    store.ask("EVAL", GIVE, 1, LOCK, value)
    value = None


obey()
if "blind" in sys.argv:
    live(take, keep=lambda: None, give=give, deadline=False)
else:
    live(take, keep, give, every=0)
