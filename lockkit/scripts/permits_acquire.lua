-- Take a permit for each id, or none. Ids that are sent again take no more.
-- Behind permits_sweep.lua.
-- ARGV: 1 lease in ms (-1: none), then the ids.
-- Returns { 1, 0 } taken, { 0, ms until the next one expires (-1: none does) } too few.
if free < #ARGV - 1 then
  if redis.call('ZSCORE', timeouts, ARGV[2]) then return {1, 0} end
  local first = tonumber(redis.call('ZRANGE', timeouts, 0, 0, 'WITHSCORES')[2] or FOREVER)
  return {0, first < FOREVER and first - now or -1}
end
local ends, added = ARGV[1] == '-1' and FOREVER or now + ARGV[1], 0
for i = 2, #ARGV do added = added + redis.call('ZADD', timeouts, 'NX', ends, ARGV[i]) end
if added > 0 then redis.call('DECRBY', available, added) end
local ttl = redis.call('PTTL', available)
if ttl > 0 then redis.call('PEXPIRE', timeouts, ttl) end
return {1, 0}
