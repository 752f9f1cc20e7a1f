-- An open load: purchases begin at their moments, RATE a second, however long the ones before take, and each is timed
-- from the moment it was meant for: who waits for a free connection waits, too (no coordinated omission).
--
--   wrk -t1 -cN -dT -s open.lua URL -- path=/api/v1/sales/ID/orders rate=5000 tag=o1 connections=N
--
-- done() prints one line of JSON: what was asked for, sent, meant, answered and refused, and percentiles in µs, 1 % apart at
-- most; "void" says why they are of a smaller load than was asked for, or is null.

local ffi = require("ffi")
ffi.cdef [[
struct open_time { long sec; long nsec; };
int clock_gettime(int clock, struct open_time *now);
]]

dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "load.lua")

local CLOCK_MONOTONIC = 1
local STEP = math.log(1.01)
local settings = {path = "/orders", rate = "1000", tag = "open"}
local now = ffi.new("struct open_time")
local began_ns, span_ns, head
local only_thread

-- done() reads these from the thread's state.
turn, number, answered, refused, histogram, rate = 0, 0, 0, 0, {}, 0

local function clock_ns()
  ffi.C.clock_gettime(CLOCK_MONOTONIC, now)
  return tonumber(now.sec) * 1e9 + tonumber(now.nsec)
end

function setup(thread)
  only_thread = thread
end

function init(arguments)
  load_begin(arguments)
  for _, word in ipairs(arguments) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  rate = tonumber(settings.rate)
  span_ns = 1e9 / rate
  head = "POST " .. settings.path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] ..
         "\r\nContent-Length: 0\r\nX-User-Id: " .. settings.tag .. "-"
end

-- Milliseconds until the turn of the connection that asks; turns come in their order.
function delay()
  local now_ns = clock_ns()
  began_ns = began_ns or now_ns
  local left_ns = began_ns + turn * span_ns - now_ns
  turn = turn + 1
  return left_ns > 0 and math.floor(left_ns / 1e6) or 0
end

function request()
  local id = number
  if began_ns then number = number + 1 end -- before: wrk tries it once
  return head .. id .. "\r\nX-Request-Id: " .. id .. "\r\n\r\n"
end

function response(status, headers)
  local id = tonumber(headers["X-Request-Id"])
  answered = answered + 1
  if not id or status >= 400 then
    refused = refused + 1
    return
  end
  local us = math.max(1, (clock_ns() - began_ns - id * span_ns) / 1e3)
  local step = math.ceil(math.log(us) / STEP)
  histogram[step] = (histogram[step] or 0) + 1
end

local function percentile(steps, counts, count, share)
  local seen = 0
  for _, step in ipairs(steps) do
    seen = seen + counts[step]
    if seen >= share * count then return math.floor(math.exp(step * STEP)) end
  end
  return 0
end

function done(summary, _, _)
  local counts = only_thread:get("histogram")
  local steps, count = {}, 0
  for step, times in pairs(counts) do
    steps[#steps + 1] = step
    count = count + times
  end
  table.sort(steps)
  local told = load_told(only_thread, summary)
  local asked, sent = only_thread:get("rate") * summary.duration / 1e6, only_thread:get("number")
  local void = (sent < 0.99 * asked or load_most < 0.99 * load_asked) and
               string.format('"%d of %d purchases sent, %d of %d connections established"', sent, asked, load_most,
                             load_asked) or "null"
  io.write(string.format('{"void":%s,%s,"asked":%d,"sent":%d,"meant":%d,"answered":%d,"refused":%d,"duration_us":%d,' ..
                         '"us":{"p50":%d,"p99":%d,"p99.9":%d}}\n', void, told, asked, sent, only_thread:get("turn"), only_thread:get("answered"),
                         only_thread:get("refused"), summary.duration, percentile(steps, counts, count, 0.5),
                         percentile(steps, counts, count, 0.99), percentile(steps, counts, count, 0.999)))
end
