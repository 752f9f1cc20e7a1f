-- Delete the lock if it is held this way, whoever holds it, then wake those who wait. Behind rw_queue.lua.
-- ARGV: 1 "read" or "write", 2 message.  Returns 1 it was, 0 it was not.
if redis.call('HGET', lock, 'mode') ~= ARGV[1] then return 0 end
redis.call('DEL', lock)
redis.pcall('PUBLISH', KEYS[3], ARGV[2])
tell_next()
return 1
