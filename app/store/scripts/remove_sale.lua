-- Take a sale that is over out of Redis, in two steps: from the first one on nothing more comes into its ledger, so what
-- is in the book then is all; with the second all is gone but the tokens that its locks have seen.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 void, 6 due, 7 events, 8 refunds,
--   9 waiting, 10 places.  ARGV: 1 instance, 2 'begin' or 'end'.
-- Returns { 1 done, epoch }, { -8 it is not over, -9 orders are held, -10 money is owed back, epoch } or
--   { 0 no such sale, 0 }.
local sale = redis.call('HMGET', KEYS[1], 'state', 'ends_ms', 'epoch', 'removing', 'rebuild')
if not sale[1] then return {0, 0} end
local ends, epoch = tonumber(sale[2] or ''), tonumber(sale[3] or '')
if not ends or not epoch then return redis.error_reply('BADSALE the sale has no epoch or no ends_ms') end
if not sale[4] then
  local time = redis.call('TIME')
  local is_over = sale[1] == 'ended' or (ends > 0 and time[1] * 1000 >= ends)
  if not is_over or sale[5] or ARGV[2] ~= 'begin' then return {-8, epoch} end
  if redis.call('ZCARD', KEYS[6]) > 0 then return {-9, epoch} end
  for _, row in ipairs(redis.call('HVALS', KEYS[8])) do
    if string.find(row, ':%l+:%d+$') and not string.find(row, ':done:%d+$') then return {-10, epoch} end
  end
  redis.call('HSET', KEYS[1], 'removing', 1)
elseif ARGV[2] == 'end' then
  redis.call('UNLINK', unpack(KEYS))
end
return {1, epoch}
