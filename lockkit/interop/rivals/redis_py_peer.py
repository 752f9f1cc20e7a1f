"""redis-py's Lock behind the line protocol of peer.h, so that it can contend with lockkit.

A thread number of the protocol is one Python thread: that is what redis-py keeps its token in. The
program ends with its standard input, at once: what it holds is left to the leases.
"""
import os
import queue
import sys
import threading
import time

import redis
from redis.exceptions import LockError

POLL_S = 0.01  # redis-py has no messages: a waiter asks again and again
PAUSE_S = 0.002  # outside, so that others get their turn
server = redis.Redis.from_url(sys.argv[1])
output = threading.Lock()


class Owner(threading.Thread):
    """A thread of the protocol: its requests, in order, and the locks it has asked for."""

    def __init__(self):
        super().__init__(daemon=True)
        self.requests = queue.SimpleQueue()
        self.locks = {}

    def run(self):
        while True:
            number, verb, _, key, options = self.requests.get()
            began = time.monotonic_ns()
            try:
                result, value = getattr(self, verb)(key, options)
            except LockError:
                result, value = "not-owner", "-"
            except Exception as fault:  # pylint: disable=broad-except
                result, value = "error", "_".join(str(fault).split()) or "-"
            with output:
                print(number, result, value, began, time.monotonic_ns(), flush=True)

    def version(self, _key, _options):
        return "ok", "redis-py-" + redis.__version__

    def lock(self, key, options):
        lease_s = float(options["lease"]) / 1000 if "lease" in options else None
        wait_s = float(options["wait"]) / 1000 if "wait" in options else None
        lock = server.lock(key, timeout=lease_s, sleep=POLL_S)
        taken = lock.acquire(blocking=wait_s != 0, blocking_timeout=wait_s)
        if taken:
            self.locks[key] = lock
        return ("ok" if taken else "busy"), "-"

    def unlock(self, key, _options):
        if key not in self.locks:
            return "not-owner", "-"
        self.locks[key].release()
        return "ok", "-"

    def renew(self, key, options):
        try:
            self.locks[key].extend(float(options["lease"]) / 1000, replace_ttl=True)
        except LockError:
            return "lost", "-"
        return "ok", "-"

    def contend(self, key, options):
        return self.turns(key, options, (options["enter"], options["leave"]))

    def bench(self, key, options):
        return self.turns(key, options, ())

    def turns(self, key, options, scripts):
        """With scripts how often they found a fault, without how many turns."""
        until = time.monotonic() + float(options["ms"]) / 1000
        value = 0
        while True:
            taken = self.lock(key, {"wait": "30000", "lease": "30000"})
            if taken[0] != "ok":
                return taken
            for script in scripts:
                value += server.evalsha(script, 1, key, "mutex", "redis-py")
            self.unlock(key, {})
            if scripts:
                time.sleep(PAUSE_S)
            else:
                value += 1
            if time.monotonic() >= until:
                return "ok", value


def main():
    owners = {}
    for line in sys.stdin:
        number, thread, verb, kind, key, *options = line.split()
        if thread not in owners:
            owners[thread] = Owner()
            owners[thread].start()
        options = dict(option.split("=", 1) for option in options)
        owners[thread].requests.put((number, verb, kind, key, options))
    os._exit(0)


main()
