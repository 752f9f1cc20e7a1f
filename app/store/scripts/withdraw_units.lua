-- Take units out of a segment of a sale, for another one: they are on their way until deposit_units.lua, and one move
-- of a segment is pending until settle_move.lua (lockkit/model/segments.pml).
-- KEYS: 1 sale, 2 stock, 3 ledger.  ARGV: 1 instance, 2 the segment they go to, 3 how many at most.
-- Returns { number, units, target } of the move that is pending now, perhaps one that was before; { 0, 0, 0 }:
--   there is nothing to take. {}: no such segment.
for i = 2, 3 do
  if #ARGV ~= 3 or #ARGV[i] > 9 or not string.find(ARGV[i], '^%d+$') then
    return redis.error_reply('BADARGS a segment, and units')
  end
end
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'cool', 'moving', 'moves', 'moved')
if not sale[1] then return {} end
if sale[3] then
  local number, units, target = string.match(sale[3], '^(%d+):(%d+):(%d+)$')
  redis.call('HSET', KEYS[1], 'moving', sale[3]) -- what a WAIT behind this waits for
  return {tonumber(number), tonumber(units), tonumber(target)}
end
local stock = redis.call('GET', KEYS[2]) or ''
if #stock > 15 or not string.find(stock, '^%d+$') then
  return redis.error_reply('BADSTOCK the segment has no stock, or it is no number')
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local cooling = 0 -- as purchase.lua counts them
for at, units in string.gmatch(sale[2] or '', '(%d+):(%d+)') do
  local wait = at - now
  if wait > 0 and wait < 10050 then cooling = cooling + units end
end
local units = math.min(tonumber(ARGV[3]), stock - cooling)
if units <= 0 then return {0, 0, 0} end
local function digits(number) return string.format('%.0f', number) end
local left, number = digits(stock - units), digits((sale[4] or 0) + 1)
redis.call('XADD', KEYS[3], '*', 'event', 'moved-out', 'by', ARGV[1], 'epoch', sale[1], 'left', left,
  'units', digits(units), 'move', number, 'to', ARGV[2]) -- first: the only one that can still be refused
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[1], 'moves', number, 'moving', number .. ':' .. digits(units) .. ':' .. ARGV[2],
  'moved', digits((sale[5] or 0) - units))
return {tonumber(number), units, tonumber(ARGV[2])}
