-- Take the vote anew that the server has lost; what is ours still stays so. Nobody else's is touched.
-- KEYS: 1 lock.  ARGV: 1 token, 2 lease in ms.  Returns 1 ours, 0 held by somebody else.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
