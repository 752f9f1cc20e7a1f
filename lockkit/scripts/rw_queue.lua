-- Put in front of the other rw_*.lua: who waits with a place, and who may go. The first of the queue
-- goes, readers next to each other together; who has no place is behind all of them. Redisson, which
-- knows of no queue, is kept in or out by the lock alone.
-- KEYS: 1 lock, 2 start of the hold keys' names, 3 channel; who has a place listens on "channel:place",
--   4 queue (list of places), 5 windows (zset: place -> epoch ms from which it counts as dead).
-- A place is named by a reader's owner, or a writer's field; an upgrade's, ahead of all, by that
-- and ":upgrade".
local lock, queue, windows = KEYS[1], KEYS[4], KEYS[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function reads(place) return place:find(':%d+$') ~= nil end
local function upgrades(place) return place:find(':upgrade$') ~= nil end

-- A place is given up. Returns 1 if there was one, else 0.
local function leave(place)
  redis.call('ZREM', windows, place)
  return redis.call('LREM', queue, 0, place)
end

-- The places of the living, whoever of the dead was first. A damaged queue begins anew.
local function places_now()
  if redis.call('EXISTS', queue, windows) == 0 then return {} end
  for _, dead in ipairs(redis.call('ZRANGEBYSCORE', windows, '-inf', now)) do leave(dead) end
  local places = redis.call('LRANGE', queue, 0, -1)
  if #places == redis.call('ZCARD', windows) then return places end
  redis.call('DEL', queue, windows)
  return {}
end

-- How many are before a place; one that is not there yet goes ahead of all to upgrade, ahead of
-- readers if writers go first, else to the end.
local function count_before(place, writers_first, places)
  for i, other in ipairs(places) do
    if other == place then return i - 1 end
  end
  for i, other in ipairs(places) do
    if upgrades(place) or (writers_first and not reads(place) and reads(other)) then return i - 1 end
  end
  return #places
end

-- Have a place, or prolong its window. Returns 1 if it is new, else 0.
local function sit_down(place, before, window, places)
  local is_new = places[before + 1] ~= place
  if is_new and places[before + 1] then
    redis.call('LINSERT', queue, 'BEFORE', places[before + 1], place)
  elseif is_new then
    redis.call('RPUSH', queue, place)
  end
  redis.call('ZADD', windows, now + window, place)
  for _, key in ipairs({queue, windows}) do
    if redis.call('PTTL', key) < window then redis.call('PEXPIRE', key, window) end
  end
  return is_new and 1 or 0
end

-- Ask whether it is the turn of a place ('': none), if holders do not keep it out for held_ms (nil:
-- they do not). If not it waits there for another window, unless that is 0.
-- Returns nil and 1 if there was no place, else 0: it is, and the place is left; or { 0, ms until there
--   may be something to take (-1: nobody knows), 1 if it has the place since just now, else 0 }.
local function await_turn(place, is_reader, held_ms, window, writers_first)
  local places = places_now()
  local before = count_before(place, writers_first, places)
  local wait_ms = held_ms
  for i = 1, held_ms and 0 or before do
    if not (is_reader and reads(places[i])) then
      local left_ms = redis.call('ZSCORE', windows, places[i]) - now
      wait_ms = math.min(wait_ms or left_ms, left_ms)
    end
  end
  if not wait_ms then return nil, #places > 0 and 1 - leave(place) or 1 end
  local is_new = 0
  if place ~= '' and window > 0 then is_new = sit_down(place, before, window, places) end
  return {0, wait_ms, is_new}
end

-- The fields of readers without a living hold key go. Returns for how long the others last that are not
-- this owner's.
local function sweep_readers(owner)
  local longest_ms, fields = 0, redis.call('HGETALL', lock)
  for f = 1, #fields, 2 do
    local left_ms = 0
    for i = 1, tonumber(fields[f + 1]) or 0 do
      local hold = KEYS[2] .. fields[f] .. ':rwlock_timeout:' .. i
      left_ms = math.max(left_ms, redis.call('PTTL', hold))
    end
    if fields[f] ~= owner then longest_ms = math.max(longest_ms, left_ms) end
    if left_ms == 0 and fields[f] ~= 'mode' then redis.call('HDEL', lock, fields[f]) end
  end
  return longest_ms
end

-- Tell those with a place who may go now: a hint, they have timers too.
local function tell_next()
  local places = places_now()
  local mode, fields = redis.call('HGET', lock, 'mode'), redis.call('HLEN', lock)
  for i, place in ipairs(mode == 'write' and {} or places) do
    local is_free = not mode or (upgrades(place) and fields == 2) -- the mode and its own
    if not reads(place) and (i > 1 or not is_free) then return end
    redis.pcall('PUBLISH', KEYS[3] .. ':' .. place, '0')
    if not reads(place) then return end
  end
end

