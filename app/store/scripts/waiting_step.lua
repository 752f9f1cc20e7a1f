-- The waiting room of a sale goes on: who waits is let in, so many a second, as long as there is something to buy.
-- Any instance asks, as often as it likes: time that was counted is not counted again, and after a pause of all of
-- them nobody but the next second's share is let in, so that no crowd comes at once.
-- KEYS: 1 sale, 2 waiting, 3 stock.  ARGV: 1 key, 2 seed: 32 bytes of chance each, in hex; the first ones stay;
--   3 '1': other segments of the sale have something to buy.
-- Returns { thousandths of places let in, last number given, how many take part in the draw (-1: it is to
--   come, -2: there is none), key, seed, 1 if the sale is over else 0, places a second, ms until it starts }; without a waiting
--   room { }.
for i = 1, 2 do
  if #ARGV < 2 or #ARGV[i] ~= 64 or not string.find(ARGV[i], '^%x+$') then
    return redis.error_reply('BADARGS key or seed is not 32 bytes in hex')
  end
end
local sale = redis.call('HMGET', KEYS[1], 'state', 'starts_ms', 'ends_ms', 'admit', 'draw')
local admit = tonumber(sale[4] or '')
if not sale[1] or not admit then return {} end
local starts, ends = tonumber(sale[2] or ''), tonumber(sale[3] or '')
if not starts or not ends then return redis.error_reply('BADSALE no starts_ms or no ends_ms') end
redis.call('HSETNX', KEYS[2], 'key', ARGV[1])
redis.call('HSETNX', KEYS[2], 'seed', ARGV[2])
local room = redis.call('HMGET', KEYS[2], 'key', 'seed', 'admitted', 'at_ms', 'last', 'drawn')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local admitted, last = tonumber(room[3] or '0'), tonumber(room[5] or '0')
local drawn = tonumber(room[6] or sale[5] == '1' and '-1' or '-2')
local is_over = sale[1] == 'ended' or (ends > 0 and now >= ends)
if not is_over and now >= starts then
  if drawn == -1 then
    drawn = last -- who came before the start takes part
    redis.call('HSET', KEYS[2], 'drawn', drawn)
  end
  if sale[1] == 'open' and (ARGV[3] == '1' or tonumber(redis.call('GET', KEYS[3]) or '0') > 0) then
    local passed = now - tonumber(room[4] or now)
    local share = math.min(math.max(passed, 0), 1000) * admit
    local more = math.max(admitted, math.min(admitted + share, (last + admit) * 1000))
    if more > admitted or passed < 0 or not room[4] then -- nobody waits: nothing is written
      admitted = more
      redis.call('HSET', KEYS[2], 'admitted', admitted, 'at_ms', now)
    end
  end
end
return {admitted, last, drawn, room[1], room[2], is_over and 1 or 0, admit, math.max(starts - now, 0)}
