"""Redlock: who has most of the servers has the lock; whoever has fewer gives them back."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from resp import BUYER, LEASE_MS, LOCK, ORDER, ORDERS, SERVERS, STOCK, TOKEN, redis, tell

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def sell():
    stock = int(redis("GET", STOCK))
    if stock < 1:
        return "sold-out"
    redis("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])",
          2, STOCK, ORDERS, stock - 1, BUYER, ORDER)
    return "sold"


def buy():
    got = [at for at in SERVERS if redis("SET", LOCK, TOKEN, "NX", "PX", LEASE_MS, at=at) == "OK"]
    result = sell() if len(got) > len(SERVERS) // 2 else "busy"
    for at in got:
        redis("EVAL", RELEASE, 1, LOCK, TOKEN, at=at)
    return result


tell(buy)
