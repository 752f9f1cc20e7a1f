-- The last write hold ends, whatever is counted; then wake all who wait. A read hold of its owner
-- keeps the lock, for as long as it has left.
-- KEYS: 1 lock, 2 start of the hold keys' names, 3 channel.  ARGV: 1 owner's write field, 2 owner.
-- Returns 1 released, 0 not the owner's.
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
local left_ms = redis.call('PTTL', KEYS[2] .. ARGV[2] .. ':rwlock_timeout:1')
if left_ms > 0 then
  redis.call('HSET', KEYS[1], 'mode', 'read')
  redis.call('PEXPIRE', KEYS[1], left_ms)
else
  redis.call('DEL', KEYS[1])
end
redis.pcall('PUBLISH', KEYS[3], '1') -- a hint: refused, the lock is free or shared all the same
return 1
