-- A waiter gives up its place; if it was its turn, the next one is woken. Behind fair_queue.lua.
-- ARGV: 1 owner, 2 its window in ms.  Returns 1 left, 0 had no place.
local had_place = leave(ARGV[1], tonumber(ARGV[2]))
wake()
return had_place
