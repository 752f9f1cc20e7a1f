-- Count the permits. Behind permits_sweep.lua.  Returns { available, acquired }.
return {free, redis.call('ZCARD', timeouts)}
