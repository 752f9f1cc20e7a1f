"""Lock, release, fence: a lease, a release that asks whose, and a write that does so in the same step."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from resp import BUYER, LEASE_MS, LOCK, ORDER, ORDERS, STOCK, TOKEN, redis, tell

MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end\n"
SELL = MINE + """
if redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then return 'already' end
if tonumber(redis.call('GET', KEYS[2])) < 1 then return 'sold-out' end
redis.call('DECR', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
return 'sold'"""
RELEASE = MINE + "return redis.call('DEL', KEYS[1])"


def buy():
    if redis("SET", LOCK, TOKEN, "NX", "PX", LEASE_MS) != "OK":
        return "busy"
    result = redis("EVAL", SELL, 3, LOCK, STOCK, ORDERS, TOKEN, BUYER, ORDER)
    redis("EVAL", RELEASE, 1, LOCK, TOKEN)
    return "busy" if result == "lost" else result


tell(buy)
