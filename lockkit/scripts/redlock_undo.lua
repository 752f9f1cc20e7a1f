-- Compare and delete, without a word: what a try leaves behind is no release that others wait for.
-- KEYS: 1 lock.  ARGV: 1 token.  Returns 1 deleted, 0 not ours.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
