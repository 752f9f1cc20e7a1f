-- Give back the permits of all ids, or of none when one has ended. Behind permits_sweep.lua.
-- ARGV: the ids.  Returns 1 given back, 0 some are not out, 2 none is out.
local missing = 0
for _, id in ipairs(ARGV) do
  if not redis.call('ZSCORE', timeouts, id) then missing = missing + 1 end
end
if missing > 0 then return missing == #ARGV and 2 or 0 end
local count = 0
for _, id in ipairs(ARGV) do count = count + redis.call('ZREM', timeouts, id) end
give(count)
return 1
