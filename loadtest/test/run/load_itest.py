#!/usr/bin/env python3
"""A door that lets a hundred connections in at a time and leaves the others in its queue: whoever measures through it
with more says so, and is void.

Needs BUILD_DIR; runs at the root."""
import json, re, select, socket, subprocess, sys, tempfile, threading

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, run

PLACES, ASKED = 100, 300


class Door:
    """In front of a port, from one thread to the other and back."""

    def __init__(self, port):
        self.port, self.places = port, threading.Semaphore(PLACES)
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=ASKED)
        self.url = f'http://127.0.0.1:{self.listener.getsockname()[1]}'
        threading.Thread(target=self.let_in, daemon=True).start()

    def let_in(self):
        while self.places.acquire():
            client = self.listener.accept()[0]
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with client, socket.create_connection(('127.0.0.1', self.port)) as service:
            try:
                while True:
                    for side in select.select([client, service], [], [])[0]:
                        if not (said := side.recv(65536)):
                            return
                        (service if side is client else client).sendall(said)
            except OSError:
                pass
            finally:
                self.places.release()


def wrk(port, script, *words, connections=ASKED):
    """Through a door of its own: those who waited in another's queue are not in its way."""
    said = subprocess.run(['wrk', '-t1', f'-c{connections}', '-d2s', '-s', f'loadtest/wrk/{script}', Door(port).url, '--',
                           f'connections={connections}', *words], capture_output=True, text=True, timeout=60).stdout
    return json.loads(said.strip().splitlines()[-1])


with tempfile.TemporaryDirectory() as folder, Service(folder, '--lab', '--connections', '500') as service:
    port = int(service.url.rsplit(':', 1)[1])
    service.sell('lamp')
    told = wrk(port, 'speed.lua', 'path=/livez')
    check('of 300 connections 100 are established', told['connections'] == ASKED and 0 < told['established'] <= PLACES, told)
    told = wrk(port, 'speed.lua', 'path=/livez', connections=50)
    check('of 50 all are', told['established'] == 50 and told['requests'] > 0, told)
    told = wrk(port, 'open.lua', 'path=/api/v1/sales/lamp/orders', 'rate=300')
    check('an open load says so, too', f' of {ASKED} connections' in (told['void'] or ''), told)
    told = wrk(port, 'open.lua', 'path=/api/v1/sales/lamp/orders', 'rate=10000000', connections=50)
    check('and what it could not send', re.search(r'^\d+ of \d+ purchases sent, 50 of 50', told['void'] or ''), told)
    flags = ['--url', Door(port).url, '--admin-url', service.admin, '--admin-token', f'{folder}/admin.token', '--redis',
             f'unix://{folder}/redis.sock', '--out', f'{folder}/out', '--connections', str(ASKED)]
    said = run('loadtest', *flags, '--against', 'livez', '--duration', '1', '--repeat', '1')
    check('a speed run is void', said.returncode == 4 and '\nVOID: ' in said.stdout and
          said.stdout.index('VOID') < said.stdout.index('guard mutex'), said)
    with open(f'{folder}/out/result.json') as file:
        text = file.read(300)
    check('and its result says why, first', f' of {ASKED} connections established' in text, text)
    said = run('report', '--out', f'{folder}/page', f'{folder}/out/result.json')
    with open(f'{folder}/page/index.html') as file:
        check('as the page does', 'The speed run is void: ' in file.read())
checks_end()
