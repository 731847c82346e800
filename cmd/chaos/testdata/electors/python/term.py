"""What the electors of this folder share: clocks, a client of Redis, and a leader's life.

An elector is three functions, which ask the store and answer True, False, or None if nobody knows:
take (the lock is ours afterwards), keep (it still is, for another lease) and give (it is ours no more).
Take may answer the token of the term in place of True. Keep may answer a pair: what is so, and from when the lease counts.
"""
import json
import mmap
import os
import signal
import socket
import struct
import sys
import threading
import time
import urllib.request
import uuid

ELECTION, NODE, RESOURCE = (os.environ["RECOUNT_" + name] for name in ("ELECTION", "NODE", "RESOURCE_URL"))
LEASE, RENEW, RETRY, WRITE = (float(os.environ[f"RECOUNT_{name}_MS"]) / 1000 for name in ("LEASE", "RENEW", "RETRY", "WRITE"))
DRIFT = float(os.environ["RECOUNT_DRIFT"])
EPOCH = int(os.environ["RECOUNT_EPOCH_NS"])
OWNER = f"{NODE}-{uuid.uuid4().hex}"
LEASE_MS = str(int(LEASE * 1000))


CLOCKS = mmap.mmap(-1, 32)  # rate, offset, and what the own clock shows at a time of the machine's; a forked process has the same
START, START_WALL = time.monotonic(), time.time()


def monotonic():
    rate, _, base, own = struct.unpack("4d", CLOCKS)
    return own + (time.monotonic() - base) * rate


def wall():
    """Seconds since 1970 by this candidate's wall clock."""
    return START_WALL + monotonic() - START + struct.unpack("4d", CLOCKS)[1]


def sleep(seconds):
    time.sleep(seconds / struct.unpack("4d", CLOCKS)[0])


def set_clocks(rate, offset_ms):
    CLOCKS[:] = struct.pack("4d", rate, offset_ms / 1000, time.monotonic(), monotonic())


def read_commands():
    for line in sys.stdin:
        command = json.loads(line)
        if command.get("command") == "clock":
            rate, offset = command.get("rate", 1), command.get("offset_ms", 0)
            set_clocks(rate, offset)
            tell(event="clock", rate=rate, offset_ms=offset)


def obey():
    """Sets the clocks when the harness says so."""
    threading.Thread(target=read_commands, daemon=True).start()


CLOCKS[:] = struct.pack("4d", 1, 0, START, START)
set_clocks(float(os.environ.get("RECOUNT_CLOCK_RATE", 1)), float(os.environ.get("RECOUNT_CLOCK_OFFSET_MS", 0)))


class Refused(Exception):
    """An error that the store answered with."""


class Store:
    """A client that speaks RESP2 and RESP3, sends as many commands at once as it is given, and connects when it must."""

    def __init__(self, greeting=()):
        address, _, self.db = os.environ["RECOUNT_REDIS_URL"].removeprefix("redis://").rpartition("/")
        host, _, port = address.rpartition(":")
        self.address, self.greeting, self.socket = (host, int(port)), greeting, None

    def ask(self, *args):
        return self.pipeline([args])[0]

    def pipeline(self, commands, silent=0):
        """Sends commands. So many of them get no reply."""
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, timeout=RENEW / 2)
                self.file = self.socket.makefile("rb")
                self.talk([*self.greeting, ("SELECT", self.db)], 0)
            return self.talk(commands, silent)
        except OSError:
            if self.socket is not None:
                self.socket.close()
            self.socket = None
            raise

    def talk(self, commands, silent):
        data = b""
        for args in commands:
            data += b"*%d\r\n" % len(args)
            for arg in args:
                arg = str(arg).encode()
                data += b"$%d\r\n%s\r\n" % (len(arg), arg)
        self.socket.sendall(data)
        replies = [self.reply() for _ in range(len(commands) - silent)]
        for reply in replies:
            if isinstance(reply, Refused):
                raise reply
        return replies

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection ended")
        kind, rest = chr(line[0]), line[1:-2].decode()
        if kind == "+":
            return rest
        if kind == "-":
            return Refused(rest)
        if kind in ":(":
            return int(rest)
        if kind == "_":
            return None
        if kind == "#":
            return rest == "t"
        if kind == ",":
            return float(rest)
        if kind == "$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == "%":
            return [self.reply() for _ in range(2 * int(rest))]
        return None if rest == "-1" else [self.reply() for _ in range(int(rest))]


def tell(**fields):
    sys.stdout.write(json.dumps(fields) + "\n")  # in one piece: two threads do this
    sys.stdout.flush()


def say(event, **fields):
    tell(event=event, at=time.clock_gettime_ns(time.CLOCK_MONOTONIC) - EPOCH, **fields)


def work(number, term):
    body = json.dumps({"node": NODE, "election": ELECTION, "value": f"{NODE}/{number}", **term}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(RESOURCE + "/write", body), timeout=RENEW).close()
    except OSError:
        pass


def tried(ask):
    """Asks. Returns the answer, None if there is none, and when the request was sent."""
    sent = monotonic()
    try:
        answer = ask()
    except (OSError, Refused):
        answer = None
    return answer if isinstance(answer, tuple) else (answer, sent)


def live(take, keep, give, tells=True, deadline=True, trusts=False, cleans=False, every=RENEW):
    """Competes and leads, until SIGTERM.

    A leader believes until its deadline, a lease after the request was sent. Without deadline it believes until it
    is told otherwise. One that trusts leaves it to its renewal to say whether its lease is over. One that cleans
    gives up its lock when its deadline is past. Every so many seconds after it counted last it asks again.
    """
    voice = say if tells else lambda *_, **__: None
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    leads, until, due, writes, term = False, 0.0, 0.0, 0, {}

    def belief():
        rate = struct.unpack("4d", CLOCKS)[0]
        return {**term, "until_ms": (until - monotonic()) * 1000 / rate} if deadline else term

    while not stopped:
        now = monotonic()
        if not leads:
            granted, sent = tried(take)
            if granted and monotonic() < sent + LEASE * (1 - DRIFT) - 0.002:
                leads, until, due = True, sent + LEASE * (1 - DRIFT) - 0.002, monotonic() + every
                term = {} if granted is True else {"token": granted}
                voice("elected", **belief())
            else:
                sleep(RETRY)
        elif deadline and not trusts and now >= until:
            leads = False
            voice("deposed", why="expired", **term)
            if cleans:
                tried(give)
        elif now >= due:
            kept, sent = tried(keep)
            if kept is False:
                leads = False
                voice("deposed", why="superseded", **term)
            elif kept:
                over = monotonic() >= until
                until, due = sent + LEASE * (1 - DRIFT) - 0.002, sent + every
                voice("elected" if over and deadline else "extended", **belief())
            else:
                due = monotonic() + RETRY
        else:
            writes += 1
            work(writes, term)
            sleep(WRITE)
    if leads:
        voice("deposed", why="stopped", **term)
        tried(give)
