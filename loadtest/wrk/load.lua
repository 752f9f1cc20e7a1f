-- How much of the load that was asked for was sent. For the scripts beside this one, which load it by dofile():
-- load_begin(arguments) in init(), load_told(thread, summary) in done(): members of a JSON object.
--
-- A connection counts once it has carried an answer and is still open: one that was refused, that found no port or
-- no file left, or that waits where the service takes no more, has carried none. What is told is the most that
-- counted at a time, of the moments when load_look() looked. Of a server that closes its connections after each
-- answer that is few, and rightly: nobody was connected to it.

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

function load_look()
  local count = 0
  for fd = 0, load_asked + OTHER_FILES do
    size[0] = ffi.sizeof(tcp)
    if ffi.C.getsockopt(fd, IPPROTO_TCP, TCP_INFO, tcp, size) == 0 and tcp.state == ESTABLISHED and
       tcp.bytes_received > 0 then count = count + 1 end
  end
  load_most = math.max(load_most, count)
  return load_most
end

function load_told(thread, summary)
  local errors = summary.errors
  load_asked = thread:get("load_asked")
  load_most = thread:get("load_most")
  return string.format('"connections":%d,"established":%d,"connect_errors":%d,"read_errors":%d,"write_errors":%d,' ..
                       '"timeouts":%d', load_asked, load_look(), errors.connect, errors.read, errors.write, errors.timeout)
end
