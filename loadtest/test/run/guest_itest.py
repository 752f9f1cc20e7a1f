#!/usr/bin/python3
"""loadtest at a service that runs already: what is wrong with a flag is said before any load, and nothing of ours is
left there.

Needs BUILD_DIR; runs at the root."""
import http.server, json, os, sys, tempfile, threading

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, run


def stranger():
    """The address of a server that is no seckilld."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f'http://127.0.0.1:{server.server_port}'


def sales(service):
    return [sale['id'] for sale in service.ask('/api/v1/sales')[2]['sales']]


def main(folder):
    homes = [f'{folder}/{name}' for name in ('one', 'other')]
    for home in homes:
        os.mkdir(home)
    with Service(homes[0], '--lab') as one, Service(homes[1], '--lab') as other:
        right = {'--url': one.url, '--admin-url': one.admin, '--admin-token': f'{homes[0]}/admin.token',
                 '--redis': f'unix://{homes[0]}/redis.sock', '--out': f'{folder}/out', '--buyers': '400',
                 '--connections': '20', '--stock': '50'}

        def load(wrong={}, *more):
            return run('loadtest', *(word for pair in {**right, **wrong}.items() for word in pair), *more)

        for wrong, said in [
            ({'--guard': 'mutexx'}, 'There is no guard of this name.'),
            ({'--redis': f'unix://{homes[1]}/redis.sock'}, '--redis: the sale that was put up at --admin-url is not there'),
            ({'--redis': f'unix://{folder}/none.sock'}, 'none.sock'),
            ({'--url': other.url}, f'--url: {other.url} does not sell what was put up'),
            ({'--url': stranger()}, 'does not sell what was put up'),
            ({'--admin-url': stranger()}, 'is not the admin port of a seckilld'),
            ({'--admin-token': f'{homes[1]}/admin.token'}, 'status 403'),
        ]:
            told = load(wrong)
            is_said = told.returncode in (2, 3) and said in told.stderr and '<' not in told.stderr
            check(f'{wrong} is found before any load', is_said and 'replies' not in told.stdout, told)
        check('what was refused so leaves no sale', not sales(one), sales(one))

        told = load()
        check('a sale passes', told.returncode == 0, told)
        check('and is taken out', not sales(one), sales(one))
        with open(f'{folder}/out/result.json') as file:
            sale = json.load(file)['sale']
        kept = [name for _, _, names in os.walk(f'{folder}/out') for name in names if name == f'{sale}.ndjson']
        check('all of it is in a file', len(kept) == 1, kept)
        told = load({}, '--against', 'livez', '--duration', '1', '--repeat', '1')
        check('a speed run leaves none either', told.returncode in (0, 2, 4) and not sales(one), (told, sales(one)))
        told = load({}, '--keep')
        check('unless it shall stay', told.returncode == 0 and len(sales(one)) == 1, (told, sales(one)))


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
