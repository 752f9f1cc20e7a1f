-- Delete the lock if it is held this way, whoever holds it, then wake those who wait.
-- KEYS: 1 lock, 3 channel.  ARGV: 1 "read" or "write", 2 message.  Returns 1 it was, 0 it was not.
if redis.call('HGET', KEYS[1], 'mode') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', KEYS[3], ARGV[2])
return 1
