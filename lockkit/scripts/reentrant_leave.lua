-- One hold of several ends: count what is left; doing that twice changes nothing.
-- KEYS: 1 lock.  ARGV: 1 owner, 2 lease in ms, 3 holds left.  Returns 1 counted, 0 not the owner's.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
-- First what needs no memory: then a server that has none left takes the rest.
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
