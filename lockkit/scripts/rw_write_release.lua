-- The last write hold ends, whatever is counted; then wake all who wait without a place, and who is
-- next. A read hold of its owner keeps the lock, for as long as it has left. Behind rw_queue.lua.
-- ARGV: 1 owner's write field, 2 owner of what may be the same handle's read hold.
-- Returns 1 released, 0 not the owner's.
if redis.call('HDEL', lock, ARGV[1]) == 0 then return 0 end
local left_ms = redis.call('PTTL', KEYS[2] .. ARGV[2] .. ':rwlock_timeout:1')
if left_ms > 0 and redis.call('HEXISTS', lock, ARGV[2]) == 1 then
  redis.call('HSET', lock, 'mode', 'read')
  redis.call('PEXPIRE', lock, left_ms)
else
  redis.call('DEL', lock)
end
redis.pcall('PUBLISH', KEYS[3], '1') -- a hint: refused, the lock is free or shared all the same
tell_next()
return 1
