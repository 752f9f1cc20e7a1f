-- Prolong the owner's lease; never shorten it, never bring back a lost lock.
-- KEYS: 1 lock.  ARGV: 1 owner, 2 lease in ms.  Returns 1 renewed, 0 not the owner's.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
