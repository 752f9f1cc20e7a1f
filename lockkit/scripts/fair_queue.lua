-- Put in front of the other fair_*.lua: the queue, and what they all do to it. Redisson's layout.
-- KEYS: 1 lock, 2 queue (list of owners, the next one first), 3 timeouts (zset: owner -> epoch ms
--   from which it counts as dead), 4 channel; a waiter listens on "channel:owner".
local lock, queue, timeouts, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local GRACE = 5000 -- ms in which a waiter that lives has asked again
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function score_of(owner) return tonumber(redis.call('ZSCORE', timeouts, owner)) end

-- Drop the dead at the head. One without a timeout would block a free lock for ever: it gets one.
-- Returns the head that is left, or false.
local function sweep()
  local head = redis.call('LINDEX', queue, 0)
  while head do
    local score = score_of(head)
    if not score and redis.call('EXISTS', lock) == 0 then
      redis.call('ZADD', timeouts, now + GRACE, head)
    end
    if not score or score > now then break end
    redis.call('ZREM', timeouts, head)
    redis.call('LPOP', queue)
    head = redis.call('LINDEX', queue, 0)
  end
  return head
end

-- Drop timeouts without a place: their owners would wait for ever, and ask for a new place instead.
local function drop_strays()
  if redis.call('ZCARD', timeouts) <= redis.call('LLEN', queue) then return end
  local queued = {}
  for _, owner in ipairs(redis.call('LRANGE', queue, 0, -1)) do queued[owner] = true end
  for _, owner in ipairs(redis.call('ZRANGE', timeouts, 0, -1)) do
    if not queued[owner] then redis.call('ZREM', timeouts, owner) end
  end
end

-- An owner leaves: those behind it need not wait for its window any more, but none is cut short
-- before it has had time to ask again. Returns 1 if it was in the queue, else 0.
local function leave(owner, window)
  local place = redis.call('LPOS', queue, owner)
  redis.call('LREM', queue, 0, owner)
  if redis.call('ZREM', timeouts, owner) == 0 or not place then return place and 1 or 0 end
  for _, waiter in ipairs(redis.call('LRANGE', queue, place, -1)) do
    local score = tonumber(redis.call('ZADD', timeouts, 'XX', 'INCR', -window, waiter))
    if score and score < now + GRACE then
      redis.call('ZADD', timeouts, math.min(score + window, now + GRACE), waiter)
    end
  end
  return 1
end

-- Tell the next one, if there is something to take.
local function wake()
  local head = sweep()
  if head and redis.call('EXISTS', lock) == 0 then
    redis.pcall('PUBLISH', channel .. ':' .. head, '0') -- a hint: it has a timer too
  end
end

