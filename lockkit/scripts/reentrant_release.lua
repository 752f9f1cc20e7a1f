-- The last hold ends, whatever is counted; then wake one waiter per process.
-- KEYS: 1 lock, 2 channel (none for spin locks).  ARGV: 1 owner.  Returns 1 free, 0 not the owner's.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('DEL', KEYS[1])
if KEYS[2] then redis.pcall('PUBLISH', KEYS[2], '0') end -- a hint: refused, it is free all the same
return 1
