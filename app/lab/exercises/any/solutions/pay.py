"""Pay against expiry: each move looks and writes in one step."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from resp import ORDER, ORDERS, ROLE, STOCK, redis, tell

SETTLE = """
local state = redis.call('HGET', KEYS[1], ARGV[1]) or 'expired'
if state ~= 'held' then return state end
if ARGV[2] == 'pay' then
  redis.call('HSET', KEYS[1], ARGV[1], 'paid')
  return 'paid'
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('INCR', KEYS[2])
return 'expired'"""

tell(lambda: redis("EVAL", SETTLE, 2, ORDERS, STOCK, ORDER, ROLE))
