"""Outbox: the order and its message in one step."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from resp import BUYER, ORDER, ORDERS, OUTBOX, STOCK, redis, tell

SELL = """
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 'already' end
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 'sold-out' end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('RPUSH', KEYS[3], ARGV[2])
return 'sold'"""


def buy():
    return redis("EVAL", SELL, 3, STOCK, ORDERS, OUTBOX, BUYER, ORDER)


tell(buy)
