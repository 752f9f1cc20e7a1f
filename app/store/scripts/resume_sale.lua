-- Go on with a paused sale.
-- KEYS: 1 sale, 2 stock, 3 ledger.  ARGV: 1 instance.
-- Returns { 1 it goes on, epoch }, { -1 it has ended or -2 it is not paused, epoch } or
--   { 0 no such sale, 0 }.
local sale = redis.call('HMGET', KEYS[1], 'state', 'ends_ms', 'epoch')
if not sale[1] then return {0, 0} end
local left, epoch = redis.call('GET', KEYS[2]), tonumber(sale[3] or '')
if not ARGV[1] or not left or not epoch or not tonumber(sale[2] or '') then
  return redis.error_reply('BADSALE the sale has no stock, no epoch or no ends_ms')
end
local time = redis.call('TIME')
local now, ends = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(sale[2])
if sale[1] == 'ended' or (ends > 0 and now >= ends) then return {-1, epoch} end
if sale[1] ~= 'paused' then return {-2, epoch} end
redis.call('XADD', KEYS[3], '*', 'event', 'resumed', 'by', ARGV[1], 'epoch', sale[3], 'left', left)
redis.call('HSET', KEYS[1], 'state', 'open') -- last: nothing stops it any more
return {1, epoch}
