-- Let a sale in segments be found, whose segments are there already, unless anything of that id is there.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 segments, all of the sale's id.
-- ARGV: 1 "COUNT:GENERATION", of which the segments' ids are made.
-- Returns 1, or 0: it exists.
if #ARGV ~= 1 or not string.find(ARGV[1], '^[1-9]%d?:%x+$') then
  return redis.error_reply('BADARGS how many segments, and their generation')
end
if redis.call('EXISTS', unpack(KEYS)) > 0 then return 0 end
redis.call('SET', KEYS[5], ARGV[1])
return 1
