-- Take the lock, unless its last holder counted other servers than we do.
-- KEYS: 1 lock, 2 members.  ARGV: 1 token, 2 lease in ms, 3 hash of the members.
-- Returns 1 taken, 0 held by somebody else, -1 other members.
local counted = redis.call('GET', KEYS[2])
if counted and counted ~= ARGV[3] then return -1 end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then
    redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[2])
end
return 1
