-- Units that another segment has taken out arrive in this one: once, however often this is sent. Also in a sale
-- that is paused or over.
-- KEYS: 1 sale, 2 stock, 3 ledger.  ARGV: 1 instance, 2 the segment they come from, 3 the move's number there, 4 units.
-- Returns 1 arrived, 2 they had before, 0 no such segment.
for i = 2, 4 do
  if #ARGV ~= 4 or #ARGV[i] > 15 or not string.find(ARGV[i], '^%d+$') then
    return redis.error_reply('BADARGS a segment, a number and units')
  end
end
local from = 'from:' .. ARGV[2] -- a field of the sale: the last move from there that has arrived
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'moved', from)
if not sale[1] then return 0 end
if sale[3] and tonumber(sale[3]) >= tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], from, sale[3]) -- what a WAIT behind this waits for
  return 2
end
local stock = redis.call('GET', KEYS[2]) or ''
if #stock > 15 or not string.find(stock, '^%d+$') then
  return redis.error_reply('BADSTOCK the segment has no stock, or it is no number')
end
local function digits(number) return string.format('%.0f', number) end
redis.call('XADD', KEYS[3], '*', 'event', 'moved-in', 'by', ARGV[1], 'epoch', sale[1],
  'left', digits(stock + ARGV[4]), 'units', ARGV[4], 'move', ARGV[3], 'from', ARGV[2]) -- first: the only one that can still be refused
redis.call('SET', KEYS[2], digits(stock + ARGV[4]))
redis.call('HSET', KEYS[1], from, ARGV[3], 'moved', digits((sale[2] or 0) + ARGV[4]))
return 1
