-- All holds of a reader end. A write hold of its owner keeps the lock as it is; readers whose hold
-- keys live keep it for as long as they have left; else it is deleted and one waiter per process
-- woken. Readers without a living hold key are none, and their fields go. The others are looked at
-- only when the lock would have ended with this hold: else another one's lasts as long as the lock.
-- KEYS: 1 lock, 2 start of the hold keys' names, 3 channel.
-- ARGV: 1 owner, 2 number of the owner's acquire.
-- Returns 1 released, 0 not the owner's, or only until its lease ended.
local function hold(owner, i) return KEYS[2] .. owner .. ':rwlock_timeout:' .. i end
local count = redis.call('HGET', KEYS[1], ARGV[1])
local number = redis.call('GET', hold(ARGV[1], 1))
if not count or (number and number ~= ARGV[2]) then return 0 end
local is_last = false
for i = 1, tonumber(count) do
  local key = hold(ARGV[1], i)
  is_last = is_last or redis.call('PTTL', key) >= redis.call('PTTL', KEYS[1])
  redis.call('DEL', key)
end
redis.call('HDEL', KEYS[1], ARGV[1])
is_last = is_last or redis.call('HLEN', KEYS[1]) == 1
if is_last and redis.call('HGET', KEYS[1], 'mode') == 'read' then
  local left_ms = 0
  local fields = redis.call('HGETALL', KEYS[1])
  for f = 1, #fields, 2 do
    local own_ms = 0
    for i = 1, tonumber(fields[f + 1]) or 0 do
      own_ms = math.max(own_ms, redis.call('PTTL', hold(fields[f], i)))
    end
    left_ms = math.max(left_ms, own_ms)
    if own_ms == 0 and fields[f] ~= 'mode' then redis.call('HDEL', KEYS[1], fields[f]) end
  end
  if left_ms > 0 then
    redis.call('PEXPIRE', KEYS[1], left_ms)
  else
    redis.call('DEL', KEYS[1])
    redis.pcall('PUBLISH', KEYS[3], '0') -- a hint: refused, it is free all the same
  end
end
return number and 1 or 0
