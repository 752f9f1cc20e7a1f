-- Prolong the lease, and how long the members are remembered: as mutex_renew, for both keys.
-- KEYS: 1 lock, 2 members.  ARGV: 1 token, 2 lease in ms.  Returns 1 renewed, 0 not ours.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 1, 2 do
    if redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
end
return 1
