-- Make it so many permits, available and acquired together. Behind permits_sweep.lua.
-- ARGV: 1 permits.  Returns 1.
local more = ARGV[1] - free - redis.call('ZCARD', timeouts)
redis.call('INCRBY', available, more)
if more > 0 then redis.pcall('PUBLISH', channel, ARGV[1]) end
return 1
