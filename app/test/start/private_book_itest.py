#!/usr/bin/env python3
"""PostgreSQL does not run as root, so root's is nobody: also in a chroot, as in most containers, where no user namespace
can be had, and in a folder that nobody else may enter. It ends with who started it, however that ends.

Needs BUILD_DIR; runs at the root. Who is not root, or may not mount, has no chroot: it is the same without."""
import os, subprocess, sys, tempfile

sys.path.insert(0, 'app/test/support')
import blackbox
from blackbox import Service, check, checks_end, eventually

NOBODY = 65534
CHROOT = """#!/bin/sh
exec unshare --mount sh -c 'mount --rbind / "$0" && exec chroot "$0" "$@"' {} {}/seckilld "$@"
"""


def in_chroot(folder):
    """seckilld is started in one from now on."""
    os.makedirs(f'{folder}/bin')
    os.makedirs(f'{folder}/root')
    with open(f'{folder}/bin/seckilld', 'w', opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
        file.write(CHROOT.format(f'{folder}/root', os.path.abspath(blackbox.BIN)))
    blackbox.BIN = f'{folder}/bin'


def postgres_of(service):
    pid = service.process.pid
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        for child in file.read().split():
            with open(f'/proc/{child}/comm') as name:
                if name.read() == 'postgres\n':
                    return f'/proc/{child}'
    return None


def main(folder):
    data = f'{folder}/data'
    os.mkdir(data, 0o700)
    is_root = os.geteuid() == 0
    if is_root and subprocess.run(['unshare', '--mount', 'true'], stderr=subprocess.DEVNULL).returncode == 0:
        in_chroot(folder)
    for turn in 'it is made', 'it is gone on with':
        service = Service(data, '--book', 'private')
        postgres = postgres_of(service)
        check(f'{turn}; it runs', postgres)
        owner = os.stat(postgres).st_uid
        check('as nobody, if root started it', owner == (NOBODY if is_root else os.geteuid()), owner)
        service.process.kill()
        service.process.wait()
        check('killed: it ends, too', eventually(lambda: not os.path.exists(postgres)))


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
