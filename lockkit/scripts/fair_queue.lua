-- Put in front of the other fair_*.lua: the queue, and what they all do to it. Redisson's layout.
-- KEYS: 1 lock, 2 queue (list of owners, the next one first), 3 timeouts (zset: owner -> epoch ms
--   from which it counts as dead), 4 channel; a waiter listens on "channel:owner".
local lock, queue, timeouts, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local GRACE = 5000 -- ms in which a waiter that lives has asked again (fair.c: WAITER_MS)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function score_of(owner) return tonumber(redis.call('ZSCORE', timeouts, owner)) end

-- Ours ask again and again; Redisson's do not, and have a v4 UUID (base/random.c).
local function is_ours(owner) return string.sub(owner, 15, 15) == '8' end

-- From when a waiter at a place (0: the next one) counts as dead, if it asks no more: when its window
-- is over, however many are before it. But each of Redisson's that goes takes its own window, which
-- only it knows, off all behind it: so behind those, a margin after the last of them.
local function lives_until(place, window, margin)
  if place > 0 and redis.call('ZCOUNT', timeouts, '(' .. now + window, '+inf') > 0 then
    local before = redis.call('LRANGE', queue, 0, place - 1)
    for i = #before, 1, -1 do
      if not is_ours(before[i]) then
        return math.max((score_of(before[i]) or now) + margin, now + window)
      end
    end
  end
  return now + window
end

-- Ours that have none of Redisson's before them any more need not outlive those: what they have
-- beyond a window is taken off. Those behind counted on it, and move with the last of them.
local function move_up(window)
  if redis.call('ZCOUNT', timeouts, '(' .. now + window, '+inf') == 0 then return end
  local is_front, by = true, 0
  for _, owner in ipairs(redis.call('LRANGE', queue, 0, -1)) do
    local score = score_of(owner) or 0
    is_front = is_front and is_ours(owner)
    if is_front then by = math.max(score - now - window, 0) elseif by == 0 then return end
    if score > now + GRACE then
      redis.call('ZADD', timeouts, 'XX', math.max(score - by, now + GRACE), owner)
    end
  end
end

-- Drop the dead at the head. One without a timeout would block a free lock for ever: it gets one, and
-- at once so do all that lack it, as what took one may have taken all. Ours that live ask in time.
-- Returns the head that is left, or false.
local function sweep()
  local head = redis.call('LINDEX', queue, 0)
  while head do
    local score = score_of(head)
    if not score and redis.call('EXISTS', lock) == 0 then
      for _, owner in ipairs(redis.call('LRANGE', queue, 0, -1)) do
        redis.call('ZADD', timeouts, 'NX', now + GRACE, owner)
      end
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

-- An owner leaves. Returns 1 if it was in the queue, else 0.
local function leave(owner)
  redis.call('ZREM', timeouts, owner)
  return redis.call('LREM', queue, 0, owner)
end

-- Tell the next one, if there is something to take.
local function wake()
  local head = sweep()
  if head and redis.call('EXISTS', lock) == 0 then
    redis.pcall('PUBLISH', channel .. ':' .. head, '0') -- a hint: it has a timer too
  end
end

