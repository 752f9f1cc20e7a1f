-- Prolong the lease: never shorten it, never bring back a lost key, nor touch somebody else's.
-- KEYS: 1 lock.  ARGV: 1 token, 2 lease in ms.  Returns 1 renewed, 0 not ours.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
