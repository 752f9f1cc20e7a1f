#!/usr/bin/python3
"""Programs whose standard streams are closed: none of their files or connections takes the place of one. Without --lab only
CAP_SYS_PTRACE sees seckilld's.

Needs BUILD_DIR; runs at the root."""
import os, socket, subprocess, sys, tempfile, urllib.request

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, check, checks_end, eventually


def start(*words):
    """Without standard streams."""
    return subprocess.Popen(words, preexec_fn=lambda: [os.close(fd) for fd in (0, 1, 2)])


def files_of(pid):
    folder = f'/proc/{pid}/fd'
    return {int(fd): os.readlink(f'{folder}/{fd}') for fd in os.listdir(folder)}


def child_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return file.read().split()


def main(data):
    with socket.create_server(('127.0.0.1', 0)) as free:
        address = '127.0.0.1:%d' % free.getsockname()[1]
    service = start(f'{BIN}/seckilld', '--lab', '--listen', address, '--admin-listen', '127.0.0.1:0', '--data', data)
    try:
        is_ready = eventually(lambda: urllib.request.urlopen(f'http://{address}/readyz', timeout=5).status == 200)
        check('seckilld serves', is_ready)
        files = files_of(service.pid)
        check('its standard streams are /dev/null', [files.get(fd) for fd in (0, 1, 2)] == ['/dev/null'] * 3, files)
        inherited = [file for child in child_of(service.pid) for file in files_of(child).values()]
        check("its Redis holds the data folder's lock", f'{data}/seckilld.lock' in inherited, inherited)

        out = f'{data}/out'
        looks = ('import os, sys; at = "/proc/self/fd/"; own = os.open(at, os.O_RDONLY); '
                 'seen = [os.readlink(at + fd) for fd in os.listdir(own) if fd != str(own) and os.path.islink(at + fd)]; '
                 'open(sys.argv[1], "w").write(chr(10).join(seen))')
        held = start(f'{BIN}/lockctl', 'run', '--redis', f'unix://{data}/redis.sock', '--lock', 'mutex:streams', '--',
                     sys.executable, '-c', looks, out)
        check('lockctl runs a command', held.wait(timeout=60) == 0, held.returncode)
        with open(out) as file:
            said = file.read().split()
        check('which has /dev/null, and no connection of lockctl', said == ['/dev/null'] * 3, said)
    finally:
        service.terminate()
        service.wait()


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
