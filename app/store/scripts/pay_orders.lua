-- What a payment provider says, each word once, in any order, however late. An order that is held becomes
-- paid; money for anything else is owed back, and written down: a unit that was given back is never
-- taken again. No event's time is looked at: what each does in each state is all there is.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 due, 6 events, 7 refunds.
-- ARGV: 1 instance, 2 n, then n times: event id, kind ('succeeded', 'failed', 'started'), buyer, order id,
--   payment id, amount, currency.
-- Returns an answer each: 'P' paid now, 'p' this event before, or this payment, 'L' late: the hold had
--   ended, 'M' another amount or currency, 'D' it is paid by another payment, 'U' no such order, 'F' noted.
--   L, M, D and U leave a refund that is owed. Without the sale, or if it is not paid for later: { }.
local n = string.find(ARGV[2] or '', '^[1-9]%d?%d?$') and tonumber(ARGV[2])
if not n or n > 256 or #ARGV ~= 2 + 7 * n then
  return redis.error_reply('BADARGS n does not fit the arguments')
end
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'window_ms', 'amount', 'currency', 'paid', 'removing')
local left = redis.call('GET', KEYS[2])
if not sale[1] or not sale[2] or sale[6] or not left then return {} end
local before = sale[5] or '0'
if #before > 15 or not string.find(before, '^%d+$') then
  return redis.error_reply('BADSALE paid is no number')
end
local events, buyers, find = {}, {}, string.find
local word = '[%w_.-]+'
local form = '^' .. string.rep(word .. ':', 6) .. word .. '$'
for i = 1, n do
  local at = 7 * i - 4 -- of the event
  local all = table.concat(ARGV, ':', at, at + 6)
  if #all > 7 * 64 or not find(all, form) then
    return redis.error_reply('BADARGS an id, an amount or a currency is malformed')
  end
  events[2 * i - 1], events[2 * i] = ARGV[at], 'payment:' .. ARGV[at + 4]
  buyers[i] = ARGV[at + 2]
end
local seen = redis.call('HMGET', KEYS[6], unpack(events)) -- and which order a payment has paid
local rows = redis.call('HMGET', KEYS[3], unpack(buyers))
for _, key in ipairs({KEYS[4], KEYS[5], KEYS[7]}) do -- a wrong type must show before anything is written
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'none' and kind ~= (key == KEYS[4] and 'stream' or key == KEYS[5] and 'zset' or 'hash') then
    return redis.error_reply('WRONGTYPE the ledger, due or refunds')
  end
end

local reasons = {L = 'late', M = 'mismatch', D = 'double', U = 'unknown'}
local news, new_rows, new_payments = {}, {}, {} -- of this batch, over what was read
local answers, orders, memory, refunds, paid = {}, {}, {}, {}, {}
local o, m, r = 0, 0, 0 -- used of orders, memory and refunds; "#" would search for the end each time
local entries, used = {}, {}
local function tell(event, field, value)
  local entry = entries[event]
  if not entry then
    entry = {'event', event, 'by', ARGV[1], 'epoch', sale[1], 'left', left}
    entries[event], entries[#entries + 1], used[event] = entry, event, 8
  end
  local u = used[event]
  entry[u + 1], entry[u + 2], used[event] = field, value, u + 2
end
for i = 1, n do
  local event, kind, buyer, order, payment, amount, currency = unpack(ARGV, 7 * i - 4, 7 * i + 2)
  local id, state, key = string.match(new_rows[buyer] or rows[i] or '', '^(%d+):(%l+):(.*)$')
  local answer
  if news[event] or seen[2 * i - 1] then answer = 'p'
  elseif kind ~= 'succeeded' then answer = 'F'
  elseif new_payments[payment] or seen[2 * i] then answer = 'p' -- the same money under another name
  elseif id ~= order then answer = 'U'
  elseif state == 'held' and (amount ~= sale[3] or currency ~= sale[4]) then answer = 'M'
  elseif state == 'held' then answer = 'P'
  else answer = state == 'paid' and 'D' or 'L' end
  if answer ~= 'p' then
    news[event] = true
    memory[m + 1], memory[m + 2], m = event, answer .. order, m + 2
  end
  if answer == 'P' then
    new_rows[buyer] = id .. ':paid:' .. key
    orders[o + 1], orders[o + 2], o = buyer, new_rows[buyer], o + 2
    paid[o / 2] = buyer
    tell('paid', 'order', order .. ':' .. buyer .. ':' .. payment)
  elseif answer == 'F' and kind == 'failed' then
    tell('payment-failed', 'order', order .. ':' .. buyer .. ':' .. payment)
  elseif reasons[answer] then
    local owed = order .. ':' .. buyer .. ':' .. amount .. ':' .. currency .. ':' .. reasons[answer]
    refunds[r + 1], refunds[r + 2], r = payment, owed .. ':owed:', r + 2 -- and when, see below
    refunds[r + 1], refunds[r + 2], r = 'order:' .. order, payment, r + 2
    tell('refund-owed', 'refund', payment .. ':' .. owed)
  end
  if answer == 'P' or reasons[answer] then
    new_payments[payment] = true
    memory[m + 1], memory[m + 2], m = events[2 * i], order, m + 2
  end
  answers[i] = answer
end
for _, event in ipairs(entries) do -- the first is the only one that can still be refused
  local id = redis.call('XADD', KEYS[4], '*', unpack(entries[event]))
  if event == 'refund-owed' then -- of the same moment, so that a rebuild from the ledger gives the same
    for i = 2, r, 4 do refunds[i] = refunds[i] .. string.match(id, '^%d+') end
  end
end
if o > 0 then
  redis.call('HSET', KEYS[3], unpack(orders))
  redis.call('HSET', KEYS[1], 'paid', before + o / 2)
  redis.call('ZREM', KEYS[5], unpack(paid))
end
if r > 0 then redis.call('HSET', KEYS[7], unpack(refunds)) end
if m > 0 then redis.call('HSET', KEYS[6], unpack(memory)) end
return answers
