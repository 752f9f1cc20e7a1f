-- Write orders anew, as they are. Nothing changes, but a write is what the WAIT sent behind it waits
-- for, and whoever has this write has all before it: so the orders were not only read, they are kept.
-- (Since Redis 7.2 a WAIT behind mere reads does not wait for what others have written.)
-- KEYS: 1 orders.  ARGV: buyers.  Returns their orders, in their order; false where there is none.
if #ARGV < 1 or #ARGV > 1024 then return redis.error_reply('BADARGS 1 to 1024 buyers') end
local orders = redis.call('HMGET', KEYS[1], unpack(ARGV))
for i, buyer in ipairs(ARGV) do
  if orders[i] then redis.call('HSET', KEYS[1], buyer, orders[i]) end
end
return orders
