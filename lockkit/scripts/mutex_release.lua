-- Compare and delete, then wake one waiter per process.
-- KEYS: 1 lock, 2 wake channel.  ARGV: 1 token.  Returns 1 released, 0 not ours.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', KEYS[2], '0') -- a hint: without the right to it the lock is free all the same
return 1
