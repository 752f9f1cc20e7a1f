-- A buyer lets an order go that is not paid: its unit is for sale again at once. The order is named, not
-- the buyer alone: late bytes must not end another one.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 void, 6 due.
-- ARGV: 1 instance, 2 process (field of void), 3 attempt, 4 buyer, 5 order id.
-- Returns 'C' cancelled, 'c' it was before, 'P' it is paid (or of a sale where nothing is paid later),
--   'X' it had expired, 'U' the buyer has no such order.
-- An attempt that resolve.lua has declared void is refused: who was told otherwise must not lose the order.
if #ARGV ~= 5 or #ARGV[3] > 15 or not string.find(ARGV[3], '^%d+$') then
  return redis.error_reply('BADARGS the attempt is no number, or an argument too many')
end
local void = redis.call('HGET', KEYS[5], ARGV[2])
if void and tonumber(void) >= tonumber(ARGV[3]) then
  return redis.error_reply('VOID this attempt was given up')
end
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'window_ms', 'cancelled')
local row = redis.call('HGET', KEYS[3], ARGV[4])
local id, state, key = string.match(row or '', '^(%d+):(%l+):(.*)$')
if not sale[1] or not id or id ~= ARGV[5] then return 'U' end
if state ~= 'held' then return state == 'cancelled' and 'c' or state == 'expired' and 'X' or 'P' end
if not sale[2] then return 'P' end
local stock, before = redis.call('GET', KEYS[2]) or '', sale[3] or '0'
if #stock > 15 or #before > 15 or not string.find(stock .. ' ' .. before, '^%d+ %d+$') then
  return redis.error_reply('BADSTOCK stock or cancelled is no number')
end
redis.call('XLEN', KEYS[4]) -- a wrong type must show before anything is written
redis.call('ZCARD', KEYS[6])
local left = string.format('%.0f', stock + 1)
redis.call('XADD', KEYS[4], '*', 'event', 'cancelled', 'by', ARGV[1], 'epoch', sale[1],
  'left', left, 'order', id .. ':' .. ARGV[4]) -- first: the only one that can still be refused
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[3], ARGV[4], id .. ':cancelled:' .. key)
redis.call('HSET', KEYS[1], 'cancelled', before + 1)
redis.call('ZREM', KEYS[6], ARGV[4])
return 'C'
