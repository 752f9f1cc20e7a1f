-- Put a sale up, unless anything of that id is there.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger.
-- ARGV: 1 instance, 2 title, 3 units, 4 starts_ms (0: now), 5 ends_ms (0: open end), 6 guard.
-- Returns { 1 created, epoch } or { 0 it exists, 0 }.
for i = 3, 5 do -- digits, few enough to be exact in Lua
  if not ARGV[i] or #ARGV[i] > 15 or not string.find(ARGV[i], '^%d+$') then
    return redis.error_reply('BADARGS units, starts_ms or ends_ms is no number')
  end
end
if #ARGV ~= 6 or #ARGV[2] > 200 or #ARGV[6] > 32 then -- what sale.h has room for
  return redis.error_reply('BADARGS title or guard is too long, or an argument too many')
end
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4]) > 0 then return {0, 0} end
local starts = ARGV[4]
if starts == '0' then
  local time = redis.call('TIME')
  starts = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
end
redis.call('HSET', KEYS[1], 'title', ARGV[2], 'initial', ARGV[3], 'starts_ms', starts,
  'ends_ms', ARGV[5], 'state', 'open', 'guard', ARGV[6], 'epoch', '1')
redis.call('SET', KEYS[2], ARGV[3])
redis.call('XADD', KEYS[4], '*', 'event', 'created', 'by', ARGV[1], 'epoch', '1',
  'left', ARGV[3], 'initial', ARGV[3])
return {1, 1}
