#!/usr/bin/python3
"""make run: its address, port, stock and title; what it says of a sale that is there; a second one beside it.

Needs BUILD_DIR; runs at the root."""
import os, signal, socket, subprocess, sys, tempfile, urllib.request

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, check, checks_end, run

BIN, TRY = os.path.abspath(BIN), os.path.abspath('app/install/try')


def free_port():
    """One of which the next is free, too."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(('127.0.0.1', 0))
            try:
                other.bind(('127.0.0.1', one.getsockname()[1] + 1))
                return one.getsockname()[1]
            except OSError:
                pass


def begin(**more):
    """It serves once it has said all: where to begin anew is in its last line."""
    process = subprocess.Popen([TRY, BIN], cwd=folder, env={**os.environ, **more}, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    said = []
    for line in process.stdout:
        said.append(line)
        if 'Begin anew' in line:
            break
    return process, ''.join(said)


def end(process):
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    process.wait()


with tempfile.TemporaryDirectory() as folder:
    port = free_port()
    wish = {'PORT': str(port), 'STOCK': '7', 'TITLE': 'For the class'}
    process, said = begin(**wish)
    check('stock and state of the sale are told', 'The sale "demo" is open, 7 of 7 left.' in said, said)
    check('its own folder is no surprise', 'others could look into' not in said, said)
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/api/v1/sales/demo') as answer:
        check('it serves where it says, under that title', '"For the class"' in answer.read().decode())
    second, words = begin(**wish)
    check('a second one says at once that one serves', 'serves' in words and second.wait() == 1 and
          'curl' not in words, words)
    admin = ['--admin', f'http://127.0.0.1:{port + 1}', '--admin-token', f'{folder}/build/run/admin.token']
    run('seckillctl', 'sale', 'end', 'demo', *admin)
    end(process)
    process, said = begin(**wish)
    check('of an ended sale it does not say that it is open', 'The sale "demo" is ended, 7 of 7 left' in said, said)
    check('and how to begin anew', 'Begin anew: stop it, rm -rf build/run' in said, said)
    end(process)
    wrong = subprocess.run([TRY, BIN], cwd=folder, env={**os.environ, 'PORT': 'x'}, capture_output=True, text=True)
    check('a wrong port is refused', wrong.returncode == 2 and 'PORT' in wrong.stderr, wrong.stderr)
checks_end()
