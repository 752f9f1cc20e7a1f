-- Put more units up in a sale that has not ended. `initial` stays what was first put up; the sale's
-- field `restocked` is the sum of these units, and the epoch grows. They are in the stock from now on,
-- but cool: until sellable_ms purchase.lua sells none of them, and meanwhile the stock is not 0. So
-- when the first one is sold, nobody remembers any more that nothing was left (sold_out.h).
-- KEYS: 1 sale, 2 stock, 3 ledger.
-- ARGV: 1 instance, 2 units, 3 idempotency key, 4 ms that they cool.
-- Returns { answer, epoch }: 1 done, and then sellable_ms behind it; 2 done before under this key,
--   0 no such sale, -1 it has ended, -6 the key stands for another number of units, -7 more than
--   100000000 units would be left (SALE_STOCK_MAX). The epoch is the one that is now.
local units = ARGV[2] or ''
if #ARGV ~= 4 or #units > 15 or not string.find(units, '^[1-9]%d*$') then
  return redis.error_reply('BADARGS units is no number from 1')
end
if not string.find(ARGV[3], '^[%w_.-]+$') then return redis.error_reply('BADARGS the key') end
if not string.find(ARGV[4], '^%d%d?%d?%d?$') then return redis.error_reply('BADARGS the ms') end
local memo = 'restock:' .. ARGV[3] -- a field of the sale: the units put up under this key
local sale = redis.call('HMGET', KEYS[1], 'state', 'ends_ms', 'epoch', 'restocked', 'cool', memo)
if not sale[1] then return {0, 0} end
local now_epoch = tonumber(sale[3] or '') or 0
if sale[6] then return {sale[6] == units and 2 or -6, now_epoch} end
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
if sale[1] == 'ended' or (ends > 0 and now >= ends) then return {-1, now_epoch} end
left = left + units
if left > 100000000 then return {-7, now_epoch} end
local sellable = now + ARGV[4]
sellable = sellable + -sellable % 50 -- so there are few lots, however many restocks
local cool, lot = '', units + 0
for at, more in string.gmatch(sale[5] or '', '(%d+):(%d+)') do
  at = tonumber(at)
  if at == sellable then lot = lot + more
  elseif at > now and at - now < 10050 then cool = cool .. at .. ':' .. more .. ' ' end
end
local function digits(number) return string.format('%.0f', number) end -- Redis 7.2 would write 1e+8
redis.call('XADD', KEYS[3], '*', 'event', 'restocked', 'by', ARGV[1], 'epoch', epoch + 1,
  'left', digits(left), 'units', units, 'key', ARGV[3], 'sellable_ms', digits(sellable)) -- first: the only one that can still be refused
redis.call('SET', KEYS[2], digits(left))
redis.call('HSET', KEYS[1], 'epoch', epoch + 1, 'restocked', digits(restocked + units), memo, units,
  'cool', cool .. sellable .. ':' .. lot)
return {1, epoch + 1, sellable}
