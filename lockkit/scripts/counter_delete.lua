-- Delete a number and what belongs to it; those who wait for it may be told to look.
-- KEYS: 1 number, 2 channel, 3 another key if any.  ARGV: 1 message if any.
-- Returns 1 deleted, 0 there was none.
local was_there = redis.call('DEL', KEYS[1])
if KEYS[3] then redis.call('DEL', KEYS[3]) end
if was_there == 1 and ARGV[1] then redis.pcall('PUBLISH', KEYS[2], ARGV[1]) end
return was_there
