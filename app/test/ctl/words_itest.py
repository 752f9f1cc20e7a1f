#!/usr/bin/python3
"""What seckillctl takes and says: times as people write them, a restock, a wrong server, a token that is not there.

Needs BUILD_DIR; runs at the root."""
import http.server, os, sys, tempfile, threading

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, run

SHANGHAI = dict(os.environ, TZ='CST-8')
TIMES = [('2030-01-02 10:00', '2030-01-02T02:00:00.000Z'), ('2030-01-02 10:00:30', '2030-01-02T02:00:30.000Z'),
         ('2030-01-02', '2030-01-01T16:00:00.000Z'), ('2030-01-02T10:00:00+01:00', '2030-01-02T09:00:00.000Z')]


class NoSeckilld(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


def look_at(data, service):
    def ctl(*words):
        return run('seckillctl', *words, '--admin', service.admin, '--admin-token', f'{data}/admin.token', env=SHANGHAI)

    for i, (said, meant) in enumerate(TIMES):
        made = ctl('sale', 'create', f't{i}', '--stock', '5', '--starts', said)
        check(f'{said} is {meant}, and shown by the clock here, too',
              f'starts     {meant}  (203' in made.stdout and 'CST)' in made.stdout, made.stdout + made.stderr)
    bad = ctl('sale', 'create', 'bad', '--stock', '5', '--starts', 'tomorrow')
    check('what is no time is told what is', bad.returncode == 2 and '"2026-11-20 10:00" or +60' in bad.stderr, bad.stderr)

    ctl('sale', 'create', 'cup', '--stock', '1')
    service.buy('cup', buyer='b1')
    again = ctl('sale', 'restock', 'cup', '--units', '100')
    check('a restock says how many come, and when', 'restocked  100 units, for sale from 2' in again.stdout and
          'state      sold_out, until the new units are for sale\n' in again.stdout, again.stdout)

    with http.server.HTTPServer(('127.0.0.1', 0), NoSeckilld) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f'http://127.0.0.1:{other.server_port}'
        lost = run('seckillctl', 'sale', 'list', '--admin', url, '--admin-token', f'{data}/admin.token')
        other.shutdown()
    check('another server is called so', lost.returncode == 1 and
          f'{url} (404): this is no answer of seckilld\'s' in lost.stderr, lost.stderr)
    none = run('seckillctl', 'sale', 'list', '--admin', service.admin, '--admin-token', f'{data}/none')
    check('a token that is not there is told with the way out', none.returncode == 2 and
          f'{data}/none: ' in none.stderr and 'SECKILL_ADMIN_TOKEN names another' in none.stderr, none.stderr)


with tempfile.TemporaryDirectory() as data, Service(data, '--lab') as service:
    look_at(data, service)
checks_end()
