-- Change what a sale is called and when it is. Never its stock.
-- KEYS: 1 sale, 2 stock, 3 ledger.
-- ARGV: 1 instance, 2 title, 3 starts_ms, 4 ends_ms (0: open end), 5 admit; '' leaves one as it is.
-- Returns { answer, epoch }: 1 changed, 0 no such sale, -1 it has ended, -3 it has started: too late
--   for starts_ms, -4 ends_ms is not in the future, -5 ends_ms does not come after starts_ms, -12 it has
--   no waiting room.
for i = 3, 5 do -- digits, few enough to be exact in Lua
  if not ARGV[i] or #ARGV[i] > 15 or not string.find(ARGV[i], '^%d*$') then
    return redis.error_reply('BADARGS starts_ms, ends_ms or admit is no number')
  end
end
if #ARGV ~= 5 or #ARGV[2] > 200 then -- what sale.h has room for
  return redis.error_reply('BADARGS the title is too long, or an argument too many')
end
local sale = redis.call('HMGET', KEYS[1], 'state', 'starts_ms', 'ends_ms', 'epoch', 'admit')
if not sale[1] then return {0, 0} end
local starts, ends = tonumber(sale[2] or ''), tonumber(sale[3] or '')
local left, epoch = redis.call('GET', KEYS[2]), tonumber(sale[4] or '')
if not left or not starts or not ends or not epoch then
  return redis.error_reply('BADSALE the sale has no stock, no epoch, no starts_ms or no ends_ms')
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if sale[1] == 'ended' or (ends > 0 and now >= ends) then return {-1, epoch} end
if ARGV[3] ~= '' and now >= starts then return {-3, epoch} end
if ARGV[5] ~= '' and not sale[5] then return {-12, epoch} end
local new_starts, new_ends = tonumber(ARGV[3]) or starts, tonumber(ARGV[4]) or ends
if new_ends > 0 and new_ends <= now then return {-4, epoch} end
if new_ends > 0 and new_ends <= new_starts then return {-5, epoch} end
local changes = {}
for i, name in ipairs({'title', 'starts_ms', 'ends_ms', 'admit'}) do
  if ARGV[i + 1] ~= '' then
    changes[#changes + 1] = name
    changes[#changes + 1] = ARGV[i + 1]
  end
end
if #changes == 0 then return redis.error_reply('BADARGS nothing to change') end
redis.call('XADD', KEYS[3], '*', 'event', 'patched', 'by', ARGV[1], 'epoch', sale[4],
  'left', left, unpack(changes))
redis.call('HSET', KEYS[1], unpack(changes)) -- last: nothing stops it any more
return {1, epoch}
