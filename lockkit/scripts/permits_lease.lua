-- How long a permit is good. Behind permits_sweep.lua.
-- ARGV: 1 id.  Returns ms, -1 for ever, 0 it has ended.
local ends = tonumber(redis.call('ZSCORE', timeouts, ARGV[1]) or now)
return ends < FOREVER and ends - now or -1
