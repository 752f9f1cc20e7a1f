-- Compare and expire: never brings back a lost key, never prolongs somebody else's.
-- KEYS: 1 lock.  ARGV: 1 token, 2 lease in ms.  Returns 1 renewed, 0 not ours.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
