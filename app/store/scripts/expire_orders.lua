-- End the holds whose time to pay is over; their units are for sale again at once. Nobody names them:
-- who is due is read here, and only what is still held ends, so any number of instances may ask at any
-- time. fence_check.lua goes in front: the leader of the past only loses its turn.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 due.  ARGV: 1 instance, 2 n: as many at most.
-- Returns { orders that expired, ms until the next hold ends (-1: none is held), units left,
--   how many were in `due` and held nothing: none, or something is wrong }.
local n = string.find(ARGV[2] or '', '^[1-9]%d?%d?$') and tonumber(ARGV[2])
if not n or n > 256 then return redis.error_reply('BADARGS n is no number from 1 to 256') end
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'window_ms', 'expired')
if not sale[1] or not sale[2] then return {0, -1, 0, 0} end
local stock, before = redis.call('GET', KEYS[2]) or '', sale[3] or '0'
if #stock > 15 or #before > 15 or not string.find(stock .. ' ' .. before, '^%d+ %d+$') then
  return redis.error_reply('BADSTOCK stock or expired is no number')
end
redis.call('XLEN', KEYS[4]) -- a wrong type must show before anything is written
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local buyers = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, n)
local rows = #buyers > 0 and redis.call('HMGET', KEYS[3], unpack(buyers)) or {}
local orders, entry = {}, {'event', 'expired', 'by', ARGV[1], 'epoch', sale[1], 'left', 0}
for i, buyer in ipairs(buyers) do
  local id, key = string.match(rows[i] or '', '^(%d+):held:(.*)$')
  if id then
    orders[#orders + 1], orders[#orders + 2] = buyer, id .. ':expired:' .. key
    entry[#entry + 1], entry[#entry + 2] = 'order', id .. ':' .. buyer
  end
end
local count, left = #orders / 2, tonumber(stock)
if count > 0 then
  left = left + count
  entry[8] = string.format('%.0f', left)
  redis.call('XADD', KEYS[4], '*', unpack(entry)) -- first: the only one that can still be refused
  redis.call('SET', KEYS[2], entry[8])
  redis.call('HSET', KEYS[3], unpack(orders))
  redis.call('HSET', KEYS[1], 'expired', before + count)
end
if #buyers > 0 then redis.call('ZREM', KEYS[5], unpack(buyers)) end
local next_due = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2]
return {count, next_due and math.max(next_due - now, 0) or -1, left, #buyers - count}
