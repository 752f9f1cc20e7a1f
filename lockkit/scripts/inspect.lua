-- Read what a key looks like as a lock. Changes nothing, bounded work. Behind inspect_related.lua.
-- ARGV: 1 rows at most, 2 start of the names of a reader's hold keys.
-- Returns { type, PTTL, size, rows, mode, fence, waiters, rows, permits out, rows, permits ended };
--   rows: of a string its first bytes; of a hash { field, value, PTTL of the hold }; of waiters and
--   of permits { id, ms left }, -1 for ever.
local key = KEYS[1]
local kind, size, rows, mode = redis.call('TYPE', key).ok, 0, {}, ''

-- The longest lease of a reader's holds, of which those after the 16th are not looked at.
local function hold_of(owner, holds)
  local longest = -2
  for i = 1, KEYS[2] and math.min(tonumber(holds) or 0, 16) or 0 do
    local ttl = redis.call('PTTL', ARGV[2] .. owner .. ':rwlock_timeout:' .. i)
    if ttl == -1 or (longest ~= -1 and ttl > longest) then longest = ttl end
  end
  return longest
end

if kind == 'string' then
  size, rows = redis.call('STRLEN', key), {redis.call('GETRANGE', key, 0, 127)}
elseif kind == 'hash' then
  size, mode = redis.call('HLEN', key), redis.call('HGET', key, 'mode') or ''
  local all = redis.call('HSCAN', key, '0', 'COUNT', most + 1)[2]
  for i = 1, math.min(#all, 2 * most + 2), 2 do
    local ttl = mode ~= '' and hold_of(all[i], all[i + 1]) or -2
    rows[#rows + 1] = {all[i]:sub(1, 128), all[i + 1]:sub(1, 32), ttl}
  end
end
return {kind, redis.call('PTTL', key), size, rows, mode:sub(1, 16), fence, waiters, queue, out,
  permits, ended}
