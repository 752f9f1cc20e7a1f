-- End a sale for good; ending it again changes nothing.
-- KEYS: 1 sale, 2 stock, 3 ledger.  ARGV: 1 instance.
-- Returns { 1 ended, epoch } or { 0 no such sale, 0 }.
local sale = redis.call('HMGET', KEYS[1], 'state', 'epoch')
if not sale[1] then return {0, 0} end
local epoch = tonumber(sale[2] or '')
if not epoch then return redis.error_reply('BADSALE the sale has no epoch') end
if sale[1] ~= 'ended' then
  local left = redis.call('GET', KEYS[2])
  if not left then return redis.error_reply('BADSALE the sale has no stock') end
  redis.call('XADD', KEYS[3], '*', 'event', 'ended', 'by', ARGV[1], 'epoch', sale[2], 'left', left)
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'ended_ms', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
  redis.call('HSET', KEYS[1], 'state', 'ended') -- last: nothing stops it any more
end
return {1, epoch}
