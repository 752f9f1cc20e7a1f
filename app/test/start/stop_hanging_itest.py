#!/usr/bin/python3
"""A service whose Redis hangs, and that is told to stop: it kills that in time, whether or not its log is read.

Needs BUILD_DIR; runs at the root."""
import fcntl, os, signal, subprocess, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, check, checks_end

LIMIT_S = 60  # Redis gets 10


def child_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return int(file.read().split()[0])


def fill(fd):
    """Until a write to the pipe would wait."""
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
    for size in (4096, 1):
        try:
            while True:
                os.write(fd, b'.' * size)
        except BlockingIOError:
            pass
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)


class Hanging:
    def __init__(self, data):
        log, self.log_in = os.pipe()
        self.log = os.fdopen(log, errors='replace')
        self.process = subprocess.Popen(
            [f'{BIN}/seckilld', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--data', data],
            stdout=subprocess.PIPE, stderr=self.log_in, text=True)
        self.process.stdout.readline()
        self.redis = child_of(self.process.pid)
        os.kill(self.redis, signal.SIGSTOP)
        self.process.send_signal(signal.SIGTERM)
        while 'stopping' not in self.log.readline():
            pass

    def end(self):
        try:
            return self.process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.log_in)

    def has_left_redis(self):
        """Whoever has it, now that its parent is gone: a process of that number that is not dead."""
        try:
            with open(f'/proc/{self.redis}/stat') as file:
                return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
        except OSError:
            return False


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    read, unread = Hanging(one), Hanging(other)
    fill(unread.log_in)
    check('it ends', read.end() is not None)
    check('its Redis is gone', not read.has_left_redis())
    said = read.log.read()
    check('the log tells', 'redis-server does not end when asked: killed' in said, said)
    check('it ends where nobody reads its log', unread.end() is not None)
    check('its Redis is gone, too', not unread.has_left_redis())
    for service in (read, unread):
        if service.has_left_redis():
            os.kill(service.redis, signal.SIGKILL)
checks_end()
