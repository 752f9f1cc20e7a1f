-- Put a sale up, unless anything of that id is there.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 segments (create_segments.lua).
-- ARGV: 1 instance, 2 title, 3 units, 4 starts_ms (0: now), 5 ends_ms (0: open end), 6 guard; if it is
--   paid for later: window_ms, amount, currency; if it has a waiting room: admit, draw (0 or 1).
-- Returns { 1 created, epoch } or { 0 it exists, 0 }.
for i = 3, 5 do -- digits, few enough to be exact in Lua
  if not ARGV[i] or #ARGV[i] > 15 or not string.find(ARGV[i], '^%d+$') then
    return redis.error_reply('BADARGS units, starts_ms or ends_ms is no number')
  end
end
local is_paid_later = #ARGV == 9 or #ARGV == 11
local is_waited_for = #ARGV == 8 or #ARGV == 11
if is_paid_later and not (string.find(ARGV[7], '^[1-9]%d*$') and #ARGV[7] < 10
    and string.find(ARGV[8], '^[1-9]%d*$') and #ARGV[8] < 14 and string.find(ARGV[9], '^%u%u%u$')) then
  return redis.error_reply('BADARGS window_ms, amount or currency')
end
local admit, draw = ARGV[#ARGV - 1], ARGV[#ARGV]
if is_waited_for and not (string.find(admit, '^[1-9]%d*$') and #admit < 8 and string.find(draw, '^[01]$')) then
  return redis.error_reply('BADARGS admit or draw')
end
if (#ARGV ~= 6 and not is_paid_later and not is_waited_for) or #ARGV[2] > 200 or #ARGV[6] > 32 then -- what sale.h has room for
  return redis.error_reply('BADARGS title or guard is too long, or an argument too many')
end
if redis.call('EXISTS', unpack(KEYS)) > 0 then return {0, 0} end
local starts = ARGV[4]
if starts == '0' then
  local time = redis.call('TIME')
  starts = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
end
redis.call('HSET', KEYS[1], 'title', ARGV[2], 'initial', ARGV[3], 'starts_ms', starts,
  'ends_ms', ARGV[5], 'state', 'open', 'guard', ARGV[6], 'epoch', '1')
local info = redis.pcall('INFO', 'replication') -- who may not ask keeps no book
if type(info) == 'string' then
  redis.call('HSET', KEYS[1], 'replid', string.match(info, 'master_replid:(%x+)')) -- see fork_check.lua
end
if is_paid_later then
  redis.call('HSET', KEYS[1], 'window_ms', ARGV[7], 'amount', ARGV[8], 'currency', ARGV[9])
end
if is_waited_for then redis.call('HSET', KEYS[1], 'admit', admit, 'draw', draw) end
redis.call('SET', KEYS[2], ARGV[3])
redis.call('XADD', KEYS[4], '*', 'event', 'created', 'by', ARGV[1], 'epoch', '1',
  'left', ARGV[3], 'initial', ARGV[3])
return {1, 1}
