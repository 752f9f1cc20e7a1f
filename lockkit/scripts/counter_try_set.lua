-- Set a number that is not there yet, then wake those who wait for it.
-- KEYS: 1 number, 2 channel.  ARGV: 1 number, 2 message.  Returns 1 set, 0 there is one already.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.pcall('PUBLISH', KEYS[2], ARGV[2]) -- a hint: who misses it has a timer
return 1
