-- A place in the waiting room of a sale: the next number, or the one that the buyer has.
-- KEYS: 1 sale, 2 waiting, 3 places.  ARGV: 1 buyer.
-- Returns the number; 0: there is no such sale, it has no waiting room, or it is over.
if #ARGV ~= 1 or not string.find(ARGV[1], '^[%w_-]+$') or #ARGV[1] > 64 then
  return redis.error_reply('BADARGS the buyer is malformed')
end
local sale = redis.call('HMGET', KEYS[1], 'state', 'ends_ms', 'admit', 'removing', 'starts_ms', 'draw')
local starts, ends = tonumber(sale[5] or ''), tonumber(sale[2] or '')
if not starts or not ends or not sale[3] or sale[4] or sale[1] == 'ended' then return 0 end
local number = redis.call('HGET', KEYS[3], ARGV[1])
if number then return tonumber(number) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ends > 0 and now >= ends then return 0 end
local kind = redis.call('TYPE', KEYS[3]).ok -- a wrong type must show before anything is written
if kind ~= 'none' and kind ~= 'hash' then return redis.error_reply('WRONGTYPE places') end
local room = redis.call('HMGET', KEYS[2], 'last', 'drawn', 'admitted')
local last = tonumber(room[1] or '0')
if sale[6] == '1' and not room[2] and now >= starts then -- too late for the draw
  redis.call('HSET', KEYS[2], 'drawn', last)
end
if room[3] and tonumber(room[3]) >= (last + sale[3]) * 1000 then -- while no more was to be had no time counts
  redis.call('HSET', KEYS[2], 'at_ms', now)
end
redis.call('HSET', KEYS[2], 'last', last + 1)
redis.call('HSET', KEYS[3], ARGV[1], last + 1)
return last + 1
