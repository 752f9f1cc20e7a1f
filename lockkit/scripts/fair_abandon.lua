-- A waiter gives up its place; if it was its turn, the next one is woken. Behind fair_queue.lua.
-- ARGV: 1 owner.  Returns 1 left, 0 had no place.
local had_place = leave(ARGV[1])
wake()
return had_place
