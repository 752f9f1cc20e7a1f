"""kazoo's Lock behind the line protocol of peer.h; a key is a path.

A thread number of the protocol is one Python thread, with a lock of its own for each key. The program ends with its
standard input, at once: what it holds is left to the end of its session.
"""
import os
import queue
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.version import __version__

client = KazooClient(hosts=sys.argv[1], timeout=2)
KINDS = {"mutex": client.Lock, "read": client.ReadLock, "write": client.WriteLock}
output = threading.Lock()


class Owner(threading.Thread):
    """A thread of the protocol: its requests, in order, and what it holds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.requests = queue.SimpleQueue()
        self.held = {}

    def run(self):
        while True:
            number, verb, kind, key, options = self.requests.get()
            began = time.monotonic_ns()
            try:
                result, value = getattr(self, verb)(kind, key, options)
            except Exception as fault:  # pylint: disable=broad-except
                result, value = "error", "_".join(repr(fault).split())
            with output:
                print(number, result, value, began, time.monotonic_ns(), flush=True)

    def version(self, _kind, _key, _options):
        return "ok", "kazoo-" + __version__

    def lock(self, kind, key, options):
        wait_s = float(options.get("wait", "600000")) / 1000
        lock = KINDS[kind](key, "kazoo_peer")
        try:
            taken = lock.acquire(blocking=wait_s > 0, timeout=wait_s or None)
        except LockTimeout:
            taken = False
        if taken:
            self.held[kind, key] = lock
        return ("ok" if taken else "busy"), "-"

    def unlock(self, kind, key, _options):
        self.held.pop((kind, key)).release()
        return "ok", "-"


def main():
    owners = {}
    client.start()
    for line in sys.stdin:
        number, thread, verb, kind, key, *options = line.split()
        if thread not in owners:
            owners[thread] = Owner()
            owners[thread].start()
        options = dict(option.split("=", 1) for option in options)
        owners[thread].requests.put((number, verb, kind, key, options))
    os._exit(0)


main()
