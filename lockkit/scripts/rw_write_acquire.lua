-- Take the write lock, or make it of a read hold, which stays beneath; doing it twice changes nothing.
-- Behind rw_queue.lua.
-- ARGV: 1 owner's write field, 2 lease in ms, 3 place ('': none), 4 window in ms (0: not to wait),
--   5 '1' if writers go first, else '0', 6 owner of what may be the same handle's read hold.
-- Returns { 1, 0, 1 if it had no place, else 0 } held, { 2, 0, 0 } there is no read hold to upgrade,
--   { 3, 0, 0 } it would wait for its own, or for one whose owner waits for it; else as await_turn().
local field, lease, place, reader = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[6]
local mode, is_upgrade, is_new = redis.call('HGET', lock, 'mode'), upgrades(place), 1
if redis.call('HEXISTS', lock, field) == 0 then
  local reads_itself = redis.call('HEXISTS', lock, reader) == 1
    and redis.call('PTTL', KEYS[2] .. reader .. ':rwlock_timeout:1') > 0
  local first = is_upgrade and places_now()[1] or place
  if is_upgrade and not reads_itself then return {2, 0, 0} end
  if reads_itself and not is_upgrade and mode == 'read' then return {3, 0, 0} end
  if upgrades(first) and first ~= place then return {3, 0, 0} end
  local held_ms = mode == 'write' and redis.call('PTTL', lock) or nil
  if mode == 'read' then
    held_ms = sweep_readers(reader)
    if held_ms == 0 then held_ms = nil end -- a writer's 0 is its last millisecond: its field is there
  end
  local wait
  wait, is_new = await_turn(place, false, held_ms, tonumber(ARGV[4]), ARGV[5] == '1')
  if wait then return wait end
end
redis.call('HSET', lock, 'mode', 'write', field, 1)
if not is_upgrade or redis.call('PTTL', lock) < lease then redis.call('PEXPIRE', lock, lease) end
return {1, 0, is_new}
