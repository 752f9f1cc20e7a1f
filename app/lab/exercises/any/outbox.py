"""Exercise outbox: an order, and a message of it in the list LAB_OUTBOX_KEY, for whoever ships. What is wrong here?"""
from resp import BUYER, ORDER, ORDERS, OUTBOX, STOCK, redis, tell

SELL = """
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 'already' end
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 'sold-out' end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 'sold'"""


def buy():
    result = redis("EVAL", SELL, 2, STOCK, ORDERS, BUYER, ORDER)
    if result == "sold":
        redis("RPUSH", OUTBOX, ORDER)
    return result


tell(buy)
