-- How much of the load that was asked for was sent. For the scripts beside this one, which load it by dofile():
-- load_begin(arguments) in init(), load_told(thread, summary) in done(): members of a JSON object.
--
-- wrk takes a connection for open that only waits in the server's queue. So one that is established by TCP counts
-- unless the server, where it runs on this machine, has not accepted it: then /proc/net/tcp has it without an inode.
-- A script that gives each connection a request and waits for all answers (purchase.lua) calls load_look() as they
-- come, and then only those count that have carried an answer, wherever the server is: the most at a time.

local ffi = require("ffi")
ffi.cdef [[
struct load_tcp { uint8_t state, others[127]; uint64_t bytes_received; };
int getsockopt(int fd, int level, int name, void *value, unsigned int *size);
]]

local IPPROTO_TCP, TCP_INFO, ESTABLISHED = 6, 11, 1
local OTHER_FILES = 64 -- that wrk has open besides its sockets, and more
local tcp, size = ffi.new("struct load_tcp"), ffi.new("unsigned int[1]")

-- load_told() reads these from the thread's state.
load_asked, load_most = 0, 0

function load_begin(arguments)
  for _, word in ipairs(arguments) do
    load_asked = tonumber(word:match("^connections=(%d+)$")) or load_asked
  end
end

local function count_established(bytes)
  local count = 0
  for fd = 0, load_asked + OTHER_FILES do
    size[0] = ffi.sizeof(tcp)
    if ffi.C.getsockopt(fd, IPPROTO_TCP, TCP_INFO, tcp, size) == 0 and tcp.state == ESTABLISHED and
       tcp.bytes_received >= bytes then count = count + 1 end
  end
  return count
end

local function count_not_accepted()
  local count, port = 0, string.format(":%04X", tonumber(wrk.port) or 80)
  for _, name in ipairs({"tcp", "tcp6"}) do
    local file = io.open("/proc/net/" .. name)
    for line in file and file:lines() or function() end do
      local address, inode = line:match("^ *%d+: (%S+) %S+ 01 %S+ %S+ %S+ +%d+ +%d+ (%d+)")
      if inode == "0" and address:sub(-5) == port then count = count + 1 end
    end
    if file then file:close() end
  end
  return count
end

function load_look() load_most = math.max(load_most, count_established(1)) end

function load_told(thread, summary)
  local errors = summary.errors
  load_asked, load_most = thread:get("load_asked"), thread:get("load_most")
  if load_most > 0 then load_look() else load_most = math.max(0, count_established(0) - count_not_accepted()) end
  return string.format('"connections":%d,"established":%d,"connect_errors":%d,"read_errors":%d,"write_errors":%d,' ..
                       '"timeouts":%d', load_asked, load_most, errors.connect, errors.read, errors.write, errors.timeout)
end
