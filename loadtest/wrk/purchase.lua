-- Verification run: one wrk thread plays its share of the buyers, and writes down every request
-- before it is sent and every reply after it was read (format: head comment of ../audit.h).
--
--   wrk -t1 -cN -dT -s purchase.lua URL -- sale=ID ledger=FILE tag=r1 me=0 of=2 buyers=20000
--       share=0.2 connections=N [tokens=FILE] [pace=N]
--
-- With tokens=FILE, buyer n is the n-th line "BUYER TOKEN" of it, and the token goes along; without,
-- the buyer is TAG-n and goes into X-User-Id. With pace=N the thread sends at most N requests per
-- second, evenly: each connection waits for its turn.
--
-- The plan. Buyers are numbered 0..buyers-1; number n belongs to thread n % of. At each step the
-- thread sends its next buyer's purchase, and, for the share of buyers who click twice, the second
-- click (same buyer, another key) of a buyer of the *next* thread at the same step: with several
-- instances the two clicks go to different ones at about the same time. Winners ask again once
-- somebody was told sold-out: every other one with the same key (a replay is due), the others with
-- a new key (already-ordered is due).
--
-- One write(2) per request, before wrk sends it: it carries the replies read since and the new
-- invoke. A kill loses replies not yet written at most, and those count as unknown. When the plan
-- is empty request() answers "", which parks the connection: wrk sends nothing and waits. The
-- thread stops when every request was answered; when some never are, the runner ends it (SIGINT).
--
-- Somebody else may answer: a proxy that did not reach the service, or was cut off from it. Such an
-- answer lacks the request's id, so nobody knows whose it was: it is counted ("stray"), and a request
-- stays unanswered. An answer that is none of the service's problems proves nothing either, whatever
-- its status.

local ffi = require("ffi")
ffi.cdef [[
struct purchase_time { long sec; long nsec; };
int clock_gettime(int clock, struct purchase_time *now);
int open(const char *path, int flags, ...);
long write(int fd, const char *bytes, size_t count);
int getpid(void);
int kill(int pid, int signal);
int poll(void *nothing, unsigned long count, int milliseconds);
]]

dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "load.lua")

local REQUEST_TIMEOUT = 408   -- a proxy may say so though nothing was asked
local SLACK_NS = 50000000     -- so far may the pace catch up
local PROBE = "probe"
local DESERTED_MS = 20        -- between two requests when nobody answers any more
local CLOCK_MONOTONIC, SIGINT, NUMBER_BITS = 1, 2, 4294967296
local O_WRONLY, O_CREAT, O_APPEND, O_CLOEXEC = 1, 64, 1024, 524288

-- Refusals that promise: not executed. Other 5xx prove nothing.
local SURE_503 = {
  ["lock-timeout"] = true, ["overloaded"] = true, ["store-unavailable"] = true,
  ["sale-paused"] = true,
}

local plan = {}         -- what is to do
local settings = {}     -- words after "--"
local fd                -- the ledger
local now = ffi.new("struct purchase_time")
local buffer, buffered = {}, 0
local in_flight = {}    -- request id -> {rid, buyer, is_first}
local sent, answered = 0, 0
local strays = 0        -- answers without the id of a request
local upcoming          -- the job whose turn was given out already
local turns             -- with a pace: of each connection to send
local look_at = 1       -- answers: then it is counted again how many connections carry any
local since_answer = 0  -- requests since the last answer
local tokens            -- the file of tokens; nil: X-User-Id
local head, tail        -- constant text around what changes in a request
local is_stopped = false
local only_thread

local function t()
  ffi.C.clock_gettime(CLOCK_MONOTONIC, now)
  return string.format("%d%09d", tonumber(now.sec), tonumber(now.nsec))
end

local function note(line)
  buffered = buffered + 1
  buffer[buffered] = line
end

local function now_ns()
  ffi.C.clock_gettime(CLOCK_MONOTONIC, now)
  return tonumber(now.sec) * 1e9 + tonumber(now.nsec)
end

local function flush()
  if buffered == 0 then return end
  local text = table.concat(buffer, "", 1, buffered)
  buffered = 0
  if ffi.C.write(fd, text, #text) ~= #text then
    io.stderr:write("purchase.lua: cannot write ", settings.ledger, "\n")
    os.exit(3)
  end
end

-- ---- the plan ----

-- Names and tokens of the buyers of this step, by their place in it. The file is read along with the
-- plan, so that it may be larger than memory.
local function read_step()
  plan.names, plan.tokens = {}, {}
  for place = 0, settings.of - 1 do
    local line = tokens:read("*l") or ""
    plan.names[place], plan.tokens[place] = line:match("^(%S+) (%S+)$")
  end
end

local function buyer_of(number)
  local place = number % settings.of
  if tokens then return plan.names[place], plan.tokens[place] end
  return settings.tag .. "-" .. number
end

-- The same share of buyers in every thread: decided by the number alone.
local function clicks_twice(number)
  return (number * 2654435761) % NUMBER_BITS < settings.share * NUMBER_BITS
end

local function job(number, click)
  local buyer, token = buyer_of(number)
  return {buyer = buyer, token = token, rid = buyer .. "." .. click}
end

local function next_first()
  if plan.second then
    local second = plan.second
    plan.second = nil
    return second
  end
  local number = plan.step * settings.of + settings.me
  local other = plan.step * settings.of + (settings.me + 1) % settings.of
  if number >= settings.buyers and other >= settings.buyers then return nil end
  if tokens then read_step() end
  plan.step = plan.step + 1
  if other < settings.buyers and clicks_twice(other) then plan.second = job(other, 2) end
  if number < settings.buyers then return job(number, 1) end
  return next_first()
end

local function next_job()
  if plan.is_sold_out and plan.again_next <= plan.again_last then
    local again = plan.again[plan.again_next]
    plan.again[plan.again_next] = nil
    plan.again_next = plan.again_next + 1
    return again
  end
  local first = next_first()
  if first then return first end
  if plan.is_sold_out then return nil end
  plan.is_sold_out = true -- more units than buyers: the winners ask again now
  return next_job()
end

local function winner_asks_again(won)
  plan.winners = plan.winners + 1
  local rid = won.rid
  if plan.winners % 2 == 0 then rid = won.buyer .. ".3" end
  plan.again_last = plan.again_last + 1
  plan.again[plan.again_last] = {buyer = won.buyer, token = won.token, rid = rid, is_again = true}
end

-- ---- replies ----

local function header_of(headers, wanted)
  if headers[wanted] then return headers[wanted] end
  local lower = wanted:lower()
  for name, value in pairs(headers) do
    if name:lower() == lower then return value end
  end
  return nil
end

local function note_reply(req, asked, status, headers, body)
  local start = '{"t":' .. t() .. ',"e":"'
  local who = '","req":"' .. req .. '","rid":"' .. asked.rid .. '","status":' .. status
  local order = body:match('"id":%s*"(%w+)"')
  if status == 201 and order then
    local is_replay = header_of(headers, "Idempotency-Replayed") == "true"
    note(start .. "ok" .. who .. (is_replay and ',"replayed":true' or "") .. ',"order":"' ..
         order .. '"}\n')
    return true, nil
  end
  local kind = body:match('"type":%s*"/problems/([%w-]+)"') or "other"
  local is_sure = kind ~= "other" and status >= 400 and status < 500 or
                  status == 503 and SURE_503[kind]
  local shown = body:match('"orderId":%s*"(%w+)"')
  note(start .. (is_sure and "fail" or "info") .. who .. ',"type":"' .. kind .. '"' ..
       (shown and ',"order":"' .. shown .. '"' or "") .. "}\n")
  return false, kind
end

local function stop_when_done()
  if is_stopped or answered + strays < sent then return end
  is_stopped = true
  flush()
  wrk.thread:stop()
  ffi.C.kill(ffi.C.getpid(), SIGINT) -- wakes wrk's main thread, which sleeps out its -d
end

-- wrk takes a refused connection for an open one, asks for a request and loses it, at once and again.
-- When nobody answers any more, do not burn the plan: wait a little before each further request. With a
-- pace the turns are as far apart, and nobody has to wait here.
local function is_deserted()
  return since_answer > 2 * settings.connections
end

local function wait_for_a_sign_of_life()
  since_answer = since_answer + 1
  if is_deserted() and not turns then ffi.C.poll(nil, 0, DESERTED_MS) end
end

local function note_a_sign_of_life()
  if turns and is_deserted() then -- what was given out for later is due now
    turns.next_ns = 0
    for i = turns.first, turns.last do turns.due[i] = 0 end
  end
  since_answer = 0
end

-- ---- the pace ----

-- wrk asks how long a connection shall wait, then for its request, but never tells which connection it
-- is. It asks anew for one that was cut while it waited, though its first turn still stands: there
-- are never more turns than connections, and who comes on top of them is sent on at once and gets
-- nothing (is parked). And it does not ask for one that was cut as it sent: that one comes for a
-- request when it is nobody's turn, and gets a probe, whose answer makes it wait for a turn again.
local function wait_for_turn()
  upcoming = upcoming or next_job()
  if not upcoming or turns.last - turns.first + 1 >= settings.connections then
    if upcoming then ffi.C.poll(nil, 0, 1) end -- nobody listens there: connections come in a storm
    turns.empty = turns.empty + 1
    return 0
  end
  local at = now_ns()
  local span_ns = is_deserted() and math.max(turns.span_ns, DESERTED_MS * 1e6) or turns.span_ns
  turns.next_ns = math.max(turns.next_ns + span_ns, at - SLACK_NS)
  turns.last = turns.last + 1
  turns.due[turns.last] = turns.next_ns
  return math.max(math.ceil((turns.next_ns - at) / 1e6) + 1, 0) -- wrk's clock may be 1 ms ahead
end

local function take_turn()
  local due_ns = turns.due[turns.first]
  if not due_ns or due_ns > now_ns() then return false end
  turns.due[turns.first] = nil
  turns.first = turns.first + 1
  return true
end

local function probe()
  ffi.C.poll(nil, 0, 1)
  turns.probes = turns.probes + 1
  return "GET /livez HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nX-Request-Id: " .. PROBE .. tail
end

-- ---- wrk's hooks ----

function setup(thread) only_thread = thread end

function init(arguments)
  for _, word in ipairs(arguments) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = tonumber(value) or value end
  end
  load_begin(arguments)
  settings.tag = tostring(settings.tag)
  fd = ffi.C.open(settings.ledger, bit.bor(O_WRONLY, O_CREAT, O_APPEND, O_CLOEXEC),
                  ffi.cast("int", 420)) -- 0644
  if fd < 0 then
    io.stderr:write("purchase.lua: cannot open ", settings.ledger, "\n")
    os.exit(3)
  end
  if settings.tokens then tokens = assert(io.open(settings.tokens)) end
  plan = {step = 0, winners = 0, again = {}, again_next = 1, again_last = 0}
  if settings.pace then
    turns = {due = {}, first = 1, last = 0, next_ns = 0, span_ns = 1e9 / settings.pace, empty = 0,
             probes = 0}
    delay = wait_for_turn -- wrk looks for this name
  end
  head = "POST /api/v1/sales/" .. settings.sale .. "/orders HTTP/1.1\r\nHost: " ..
         wrk.headers["Host"] .. "\r\nContent-Length: 0\r\n" ..
         (tokens and "Authorization: Bearer " or "X-User-Id: ")
  tail = "\r\n\r\n"
end

local is_verified = false

function request()
  if not is_verified then -- wrk looks at one request before it starts, and does not send it
    is_verified = true
    return "GET /livez HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. tail
  end
  local is_parked = turns and turns.empty > 0
  if is_parked then turns.empty = turns.empty - 1 end
  upcoming = upcoming or next_job()
  if is_parked or not upcoming then
    flush()
    if not upcoming then stop_when_done() end
    return ""
  end
  if turns and not take_turn() then return probe() end
  local todo = upcoming
  upcoming = nil
  wait_for_a_sign_of_life()
  sent = sent + 1
  local req = settings.tag .. "." .. settings.me .. "." .. sent
  in_flight[req] = todo
  note('{"t":' .. t() .. ',"e":"invoke","req":"' .. req .. '","rid":"' .. todo.rid ..
       '","buyer":"' .. todo.buyer .. '","key":"' .. todo.rid .. '"}\n')
  flush()
  return head .. (todo.token or todo.buyer) .. "\r\nIdempotency-Key: " .. todo.rid .. "\r\nX-Request-Id: " ..
         req .. tail
end

function response(status, headers, body)
  local req = header_of(headers, "X-Request-Id")
  local asked = req and in_flight[req]
  if not asked and turns and turns.probes > 0 then -- a proxy's own answer may be to a probe
    turns.probes = turns.probes - 1
    if req == PROBE then note_a_sign_of_life() end
    return
  end
  if not asked then -- whose it was is not known: it stays unanswered
    note('{"t":' .. t() .. ',"e":"stray","status":' .. status .. "}\n")
    if status ~= REQUEST_TIMEOUT then strays = strays + 1 end
    return
  end
  in_flight[req] = nil
  answered = answered + 1
  if answered == look_at then
    load_look()
    look_at = 2 * look_at
  end
  note_a_sign_of_life()
  local is_won, kind = note_reply(req, asked, status, headers, body)
  if kind == "sold-out" then plan.is_sold_out = true end
  if is_won and not asked.is_again then winner_asks_again(asked) end
end

function done(summary) io.write("{", load_told(only_thread, summary), "}\n") end
