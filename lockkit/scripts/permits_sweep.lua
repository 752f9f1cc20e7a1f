-- Put in front of the other permits_*.lua: what has expired is given back, exactly once.
-- KEYS: 1 permits available, 2 timeouts (zset: id, 16 raw bytes -> epoch ms of its end), 3 channel.
local available, timeouts, channel = KEYS[1], KEYS[2], KEYS[3]
local FOREVER = 922337203685477 -- the end of a permit without lease, as Redisson writes it
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free = tonumber(redis.call('GET', available) or 0)
if not free or free % 1 ~= 0 then return redis.error_reply('ERR not a number of permits') end

local function give(count)
  free = redis.call('INCRBY', available, count)
  if free > 0 then redis.pcall('PUBLISH', channel, free) end -- a hint: waiters have timers
end

do
  local expired = redis.call('ZREMRANGEBYSCORE', timeouts, 0, now)
  if expired > 0 then give(expired) end
end
