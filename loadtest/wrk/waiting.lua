-- More buyers than can be served, at a sale with a waiting room: newcomers arrive at their moments, so many a second,
-- each takes a place, asks again when it is told to, and buys when it is let in.
--
--   wrk -t1 -cN -dT -s waiting.lua URL -- path=/api/v1/sales/ID rate=4000 tag=w1
--
-- done() prints one line of JSON: who came, who bought, who was let in and refused, and how long those who were let
-- in waited for the answer to their purchase, in µs.

local ffi = require("ffi")
ffi.cdef [[
struct waiting_time { long sec; long nsec; };
int clock_gettime(int clock, struct waiting_time *now);
]]

local CLOCK_MONOTONIC = 1
local settings = {path = "/", rate = "1000", tag = "w"}
local now = ffi.new("struct waiting_time")
local began_ns, span_ns
local due, kept = {}, {} -- heaps of {at_ns, buyer, ticket, is_in}, the next one first; kept: a connection waits for each
local meant = 0
local in_flight = {}
local only_thread
local sent = 0

-- done() reads these from the thread's state.
came, joined, looked, bought, refused, others, times = 0, 0, 0, 0, 0, 0, {}

local function clock_ns()
  ffi.C.clock_gettime(CLOCK_MONOTONIC, now)
  return tonumber(now.sec) * 1e9 + tonumber(now.nsec)
end

local function push(heap, wish)
  local i = #heap + 1
  while i > 1 and heap[math.floor(i / 2)].at_ns > wish.at_ns do
    heap[i] = heap[math.floor(i / 2)]
    i = math.floor(i / 2)
  end
  heap[i] = wish
end

local function pop(heap)
  local first, last = heap[1], table.remove(heap)
  local i, n = 1, #heap
  if n == 0 then return first end
  while 2 * i <= n do
    local child = 2 * i
    if child < n and heap[child + 1].at_ns < heap[child].at_ns then child = child + 1 end
    if heap[child].at_ns >= last.at_ns then break end
    heap[i] = heap[child]
    i = child
  end
  heap[i] = last
  return first
end

function setup(thread)
  only_thread = thread
end

function init(arguments)
  for _, word in ipairs(arguments) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  span_ns = 1e9 / tonumber(settings.rate)
end

-- Milliseconds until the next that somebody wants, of what no other connection is kept for.
function delay()
  local now_ns = clock_ns()
  began_ns = began_ns or now_ns
  local next_ns = began_ns + meant * span_ns
  local wish
  if due[1] and due[1].at_ns < next_ns then
    wish = pop(due)
  else
    meant = meant + 1
    wish = {at_ns = next_ns, buyer = settings.tag .. "-" .. meant}
  end
  push(kept, wish)
  return wish.at_ns > now_ns and math.ceil((wish.at_ns - now_ns) / 1e6) or 0
end

local function ask(method, path, wish)
  sent = sent + 1
  in_flight[tostring(sent)] = wish
  wish.sent_ns = clock_ns()
  return method .. " " .. settings.path .. path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nX-User-Id: " ..
         wish.buyer .. "\r\nX-Request-Id: " .. sent .. (wish.ticket and "\r\nWaiting-Ticket: " .. wish.ticket or "") ..
         (method == "POST" and "\r\nContent-Length: 0" or "") .. "\r\n\r\n"
end

function request()
  if not began_ns then return "GET /livez HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n" end -- tried once
  local wish = pop(kept)
  if wish.is_in then return ask("POST", "/orders", wish) end
  if wish.ticket then
    looked = looked + 1
    return ask("GET", "/waiting-room", wish)
  end
  came = came + 1
  return ask("POST", "/waiting-room", wish)
end

function response(status, headers, body)
  local wish = in_flight[headers["X-Request-Id"]]
  if not wish then return end
  in_flight[headers["X-Request-Id"]] = nil
  local now_ns = clock_ns()
  if wish.is_in then
    times[#times + 1] = (now_ns - wish.sent_ns) / 1e3
    if status == 201 then bought = bought + 1 elseif status == 403 then refused = refused + 1 else others = others + 1 end
    return
  end
  if status ~= 200 then
    others = others + 1
    return
  end
  if not wish.ticket then joined = joined + 1 end
  wish.ticket = wish.ticket or body:match('"ticket":"([^"]+)"')
  wish.is_in = body:find('"turn":"admitted"', 1, true) ~= nil
  wish.at_ns = wish.is_in and now_ns or now_ns + tonumber(body:match('"askAgainMs":(%d+)')) * 1e6
  push(due, wish)
end

function done(summary)
  local sorted = only_thread:get("times")
  table.sort(sorted)
  local function at(share) return sorted[math.max(1, math.ceil(#sorted * share))] or 0 end
  io.write(string.format(
    '{"duration_us":%d,"came":%d,"joined":%d,"looked":%d,"bought":%d,"refused":%d,"others":%d,' ..
    '"purchase_us":{"p50":%d,"p99":%d,"max":%d}}\n',
    summary.duration, only_thread:get("came"), only_thread:get("joined"), only_thread:get("looked"),
    only_thread:get("bought"), only_thread:get("refused"), only_thread:get("others"), at(0.5), at(0.99), at(1)))
end
