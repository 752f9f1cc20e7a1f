-- A waiter gives up its place; those who waited for it are told. Behind rw_queue.lua.
-- ARGV: 1 place.  Returns 1 left, 0 had none.
local had_place = leave(ARGV[1])
if had_place == 1 and redis.call('HGET', lock, 'mode') ~= 'write' then
  redis.pcall('PUBLISH', KEYS[3], '1')
  tell_next()
end
return had_place
