"""What a program of yours needs to speak to Redis: nothing but sockets. Use a client library instead if you like."""
import json
import os
import socket

STOCK, ORDERS, LOCK = (os.environ["LAB_%s_KEY" % name] for name in ("STOCK", "ORDERS", "LOCK"))
BUYER, ORDER, TOKEN, LEASE_MS = (
    os.environ["LAB_" + name] for name in ("BUYER", "ORDER", "TOKEN", "LEASE_MS"))
ROLE, OUTBOX = os.environ.get("LAB_ROLE"), os.environ.get("LAB_OUTBOX_KEY")  # where an exercise has them

SERVERS = [os.environ[name] for name in sorted(os.environ) if name.startswith("LAB_REDIS_URL_")]
_open = {}


def redis(*words, at=os.environ["LAB_REDIS_URL"]):
    """One command; its answer: text, number, list or None. An error, or no answer, is an exception."""
    if at not in _open:
        host, port = at.split("/")[2].split(":")
        _open[at] = socket.create_connection((host, int(port))).makefile("rwb")
    words = [str(word).encode() for word in words]
    _open[at].write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    _open[at].flush()
    return _reply(_open[at])


def _reply(replies):
    line = replies.readline()
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest.decode()
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else replies.read(int(rest) + 2)[:-2].decode()
    if kind == b"*":
        return None if rest == b"-1" else [_reply(replies) for _ in range(int(rest))]
    raise OSError(rest.decode() or "no answer")


def tell(work):
    """Say what work() comes to."""
    try:
        result = work()
    except OSError:
        result = "unknown"
    print(json.dumps({"result": result}))
