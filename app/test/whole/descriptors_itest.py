#!/usr/bin/python3
"""No descriptor of seckilld is inherited by a program that it starts: each is close-on-exec but the standard streams, and
its Redis and PostgreSQL have none of its sockets. Without --lab only CAP_SYS_PTRACE sees its descriptors.

Needs BUILD_DIR; runs at the root."""
import os, re, socket, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, skip

CLOEXEC = 0o2000000


def files_of(pid):
    """What each descriptor is, and whether a program that is started has it, too."""
    folder, files = f'/proc/{pid}', {}
    for fd in os.listdir(f'{folder}/fd'):
        try:
            with open(f'{folder}/fdinfo/{fd}') as file:
                flags = int(re.search(r'flags:\s*(\d+)', file.read())[1], 8)
            files[int(fd)] = os.readlink(f'{folder}/fd/{fd}'), not flags & CLOEXEC
        except FileNotFoundError:
            pass  # it was closed meanwhile
    return files


def main(data):
    with Service(data, '--lab', '--book', 'private') as service:
        service.sell('cup')
        port = int(service.url.rsplit(':', 1)[1])
        guests = [socket.create_connection(('127.0.0.1', port)) for _ in range(3)]
        for guest in guests[:2]:
            guest.sendall(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n')
            check('a buyer is served', guest.recv(64).startswith(b'HTTP/1.1 200'))
        pid = service.process.pid
        files = files_of(pid)
        left = [what for fd, (what, is_inherited) in files.items() if fd > 2 and is_inherited]
        check('its descriptors are close-on-exec', len(files) > 20 and not left, (len(files), left))
        with open(f'/proc/{pid}/task/{pid}/children') as file:
            children = file.read().split()
        check('it has two servers of its own', len(children) == 2, children)
        sockets = {what for what, _ in files.values() if what.startswith('socket:')}
        for child in children:
            try:
                shared = sockets & {what for what, _ in files_of(child).values()}
                check('which has none of its sockets', sockets and not shared, shared)
            except PermissionError:
                skip('which has none of its sockets', "root may not look into nobody's processes (CAP_SYS_PTRACE)")
        for guest in guests:
            guest.close()


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
