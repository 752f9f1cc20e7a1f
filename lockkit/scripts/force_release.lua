-- Delete the lock, whoever holds it, then wake one waiter per process. What is no lock stays.
-- KEYS: 1 lock, 2 channel (none for spin locks).  ARGV: 1 type of the key.
-- Returns 1 it was held, 0 nobody held it.
local found = redis.call('TYPE', KEYS[1]).ok
if found == 'none' then return 0 end
if found ~= ARGV[1] then return redis.error_reply('WRONGTYPE not such a lock: ' .. found) end
redis.call('DEL', KEYS[1])
if KEYS[2] then redis.pcall('PUBLISH', KEYS[2], '0') end
return 1
