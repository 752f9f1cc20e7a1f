-- Settle an attempt whose answer was lost: from here on it can never be executed (purchase.lua
-- refuses it), so what is read now is final.
-- KEYS: 1 void, 2 orders.  ARGV: 1 process, 2 attempt, 3.. buyers.
-- Returns the buyers' orders, in their order; false where there is none.
if #ARGV < 3 or #ARGV > 1026 or #ARGV[2] > 15 or not string.find(ARGV[2], '^%d+$') then
  return redis.error_reply('BADARGS process, attempt and 1 to 1024 buyers')
end
local orders = redis.call('HMGET', KEYS[2], unpack(ARGV, 3))
local void = redis.call('HGET', KEYS[1], ARGV[1])
if not void or tonumber(void) < tonumber(ARGV[2]) then void = ARGV[2] end
redis.call('HSET', KEYS[1], ARGV[1], void) -- in any case: what a WAIT behind this waits for
return orders
