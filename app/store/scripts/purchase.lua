-- Sell one unit each to a batch of buyers, in their order, in one atomic step. The owner check of
-- a lock goes in front of this text when a guard holds one (lk_mutex_run, lk_guarded_eval), or
-- fence_check.lua, with the fence as the last key and the token as the last argument.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 void, 6 due.
-- ARGV: 1 instance, 2 process (field of void), 3 attempt, 4 n, then n times: buyer, order id to use,
--   idempotency key ('' for none).
-- Returns { units left, those that cool too (restock_sale.lua), ms until the start, epoch, answer 1 .. answer n }; an answer is 'C' created,
--   'R<order id>' replayed, 'A<order id>' already ordered, 'S' sold out, 'N' not started,
--   'E' ended, 'P' paused. Without the sale: { -1, 0, 0 }.
-- What is paid for later (window_ms) is held until then: 'C<pay_by>', and 'S<ms>' until a unit may come
--   back ('S' alone: none is held); 'X<order id>' was cancelled, 'Y<order id>' expired: no second one.
-- An attempt that resolve.lua has declared void is refused: it may be bytes of a dead connection.
local count = ARGV[4] or ''
local n = string.find(count, '^[1-9]%d?%d?%d?$') and tonumber(count)
if not n or n > 1024 or (#ARGV ~= 4 + 3 * n and #ARGV ~= 5 + 3 * n) then -- 5: a lock's token
  return redis.error_reply('BADARGS n does not fit the arguments')
end
if #ARGV[3] > 15 or not string.find(ARGV[3], '^%d+$') then
  return redis.error_reply('BADARGS the attempt is no number')
end
local void = redis.call('HGET', KEYS[5], ARGV[2])
if void and tonumber(void) >= tonumber(ARGV[3]) then
  return redis.error_reply('VOID this attempt was given up')
end
local sale = redis.call('HMGET', KEYS[1], 'state', 'starts_ms', 'ends_ms', 'epoch', 'cool',
  'window_ms')
if not sale[1] then return {-1, 0, 0} end
local window = sale[6]
for i = 2, window and 6 or 4 do -- digits, few enough to be exact: also what would break a write must show now
  if i ~= 5 and (not sale[i] or #sale[i] > 15 or not string.find(sale[i], '^%d+$')) then
    return redis.error_reply('BADSALE starts_ms, ends_ms, epoch or window_ms is no number')
  end
end
local stock = redis.call('GET', KEYS[2])
if not stock or #stock > 15 or not string.find(stock, '^%d+$') then
  return redis.error_reply('BADSTOCK the sale has no stock, or it is no number')
end
redis.call('XLEN', KEYS[4]) -- a wrong type must show before anything is written
local due = window and redis.call('ZRANGE', KEYS[6], 0, 0, 'WITHSCORES')[2] -- when the first hold ends

local buyers = {}
for i = 1, n do buyers[i] = ARGV[3 * i + 2] end
local held = redis.call('HMGET', KEYS[3], unpack(buyers))

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local starts, ends = tonumber(sale[2]), tonumber(sale[3])
local closed
if sale[1] == 'ended' or (ends > 0 and now >= ends) then closed = 'E'
elseif sale[1] == 'paused' then closed = 'P'
elseif now < starts then closed = 'N' end

local cooling = 0 -- units of the stock that are not for sale yet
if sale[5] then
  for at, units in string.gmatch(sale[5], '(%d+):(%d+)') do
    local wait = at - now
    if wait > 0 and wait < 10050 then cooling = cooling + units end -- longer: the clock was set back
  end
end
local left = tonumber(stock)
local before, find = left, string.find
local fresh, orders, holds = {}, {}, {}
local entry = {'event', 'sold', 'by', ARGV[1], 'epoch', sale[4], 'left', 0}
local o, e = 0, 8 -- used of orders and entry; "#" would search for the end each time
local pay_by = window and string.format('%.0f', now + window)
if window then
  entry[9], entry[10], e = 'pay_by', pay_by, 10
end
local answers = {0, math.max(starts - now, 0), tonumber(sale[4])}
for i = 1, n do
  local buyer, id, key = buyers[i], ARGV[3 * i + 3], ARGV[3 * i + 4]
  local order = fresh[buyer] or held[i]
  if order then
    local held_id, state, held_key = string.match(order, '^(%d+):(%l+):(.*)$')
    local over = window and (state == 'cancelled' and 'X' or state == 'expired' and 'Y')
    answers[i + 3] = (over or (key ~= '' and key == held_key) and 'R' or 'A') .. (held_id or '')
  elseif closed then
    answers[i + 3] = closed
  elseif left <= cooling then
    local back = o > 0 and not due and pay_by or due -- the batch's own are due last
    answers[i + 3] = back and 'S' .. string.format('%.0f', math.max(back - now, 0)) or 'S'
  else
    local row = id .. ':' .. buyer .. ':' .. key
    if #row > 150 or not find(row, '^%d+:[%w_-]+:[%w_.-]*$') then
      return redis.error_reply('BADARGS a buyer, an order id or a key is malformed')
    end
    left = left - 1
    order = id .. ':held:' .. key
    fresh[buyer] = order
    orders[o + 1], orders[o + 2], o = buyer, order, o + 2
    entry[e + 1], entry[e + 2], e = 'order', row, e + 2
    if window then holds[o - 1], holds[o] = pay_by, buyer end
    answers[i + 3] = window and 'C' .. pay_by or 'C'
  end
end
answers[1] = left
if left < before then
  entry[8] = left
  redis.call('XADD', KEYS[4], '*', unpack(entry)) -- first: the only one that can still be refused
  redis.call('SET', KEYS[2], left)
  redis.call('HSET', KEYS[3], unpack(orders))
  if window then redis.call('ZADD', KEYS[6], unpack(holds)) end
end
return answers
