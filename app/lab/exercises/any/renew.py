"""Exercise renew: you hold the lock longer than a lease, and prolong it in between. What is wrong here?"""
from resp import BUYER, LEASE_MS, LOCK, ORDER, ORDERS, STOCK, TOKEN, redis, tell

MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end\n"
SELL = MINE + """
if tonumber(redis.call('GET', KEYS[2])) < 1 then return 'sold-out' end
redis.call('DECR', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
return 'sold'"""
RELEASE = MINE + "return redis.call('DEL', KEYS[1])"


def buy():
    if redis("SET", LOCK, TOKEN, "NX", "PX", LEASE_MS) != "OK":
        return "busy"
    if redis("PEXPIRE", LOCK, LEASE_MS) != 1:
        return "busy"
    result = redis("EVAL", SELL, 3, LOCK, STOCK, ORDERS, TOKEN, BUYER, ORDER)
    redis("EVAL", RELEASE, 1, LOCK, TOKEN)
    return "busy" if result == "lost" else result


tell(buy)
