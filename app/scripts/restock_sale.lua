-- Put more units up in a sale that has not ended. `initial` stays what was first put up; the sale's
-- field `restocked` is the sum of these units, and the epoch grows, so that nobody who remembers
-- "sold out" goes on saying it.
-- KEYS: 1 sale, 2 stock, 3 ledger.
-- ARGV: 1 instance, 2 units, 3 idempotency key ('' for none).
-- Returns 1 done, 2 done before under this key, 0 no such sale, -1 it has ended, -6 the key stands
--   for another number of units, -7 more than 100000000 units would be left (SALE_STOCK_MAX).
local units = ARGV[2] or ''
if #ARGV ~= 3 or #units > 15 or not string.find(units, '^[1-9]%d*$') then
  return redis.error_reply('BADARGS units is no number from 1')
end
if not string.find(ARGV[3], '^[%w_.-]*$') then return redis.error_reply('BADARGS the key') end
local memo = 'restock:' .. ARGV[3] -- a field of the sale: the units put up under this key
local sale = redis.call('HMGET', KEYS[1], 'state', 'ends_ms', 'epoch', 'restocked', memo)
if not sale[1] then return 0 end
if ARGV[3] ~= '' and sale[5] then return sale[5] == units and 2 or -6 end
local left = redis.call('GET', KEYS[2])
local ends, epoch, restocked = tonumber(sale[2] or ''), sale[3] or '', sale[4] or '0'
for _, number in ipairs({left or '', epoch, restocked}) do -- exact, or it must not be added to
  if #number > 15 or not string.find(number, '^%d+$') then
    return redis.error_reply('BADSALE stock, epoch or restocked is no number')
  end
end
if not ends then return redis.error_reply('BADSALE the sale has no ends_ms') end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if sale[1] == 'ended' or (ends > 0 and now >= ends) then return -1 end
left = left + units
if left > 100000000 then return -7 end
redis.call('XADD', KEYS[3], '*', 'event', 'restocked', 'by', ARGV[1], 'epoch', epoch + 1,
  'left', left, 'units', units, 'key', ARGV[3]) -- first: the only one that can still be refused
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[1], 'epoch', epoch + 1, 'restocked', restocked + units)
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], memo, units) end
return 1
