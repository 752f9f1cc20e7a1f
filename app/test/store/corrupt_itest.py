#!/usr/bin/python3
"""A Redis whose keys hold what no script of ours writes: each route answers, a 5xx where it cannot know, and goes on.

Needs BUILD_DIR; runs at the root."""
import http.client, json, os, signal, socket, sys, tempfile, urllib.parse

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end

BAD = [b'', b'x', b'-1', b'9223372036854775807', b'99999999999999999999999', b'1:', b'0:0:0', b'9999999999999999:9:99999',
       b'\xff\xfe"\\\x00', b'\x01' * 200, b'9' * 15, b'A' * 70000]
ORDERS = [b'\x01' * 19 + b':' + b'\x01' * 15 + b':' + b'\x01' * 64, b'x:held:k', b'9' * 19 + b':cancelled:']
REFUNDS = [b'1:ann:' + b'\x01' * 40 + b':' + b'\x01' * 64 + b':late:' + b'\x01' * 9 + b':1', b'1:ann:9' + b'9' * 30 + b':CNYCNY:late:owed-and-more']
IS_NUMBER = {b'-1', b'9223372036854775807', b'9' * 15, b'99999999999999999999999'}
SALE = '/api/v1/sales/%s'
ADMIN = '/api/v1/admin/sales/%s'
ROUTES = [('GET', SALE, 0), ('POST', SALE + '/orders', 0), ('GET', SALE + '/orders/me', 0), ('GET', '/api/v1/sales', 0),
          ('GET', SALE + '/waiting-room', 0), ('POST', SALE + '/waiting-room', 0), ('POST', SALE + '/orders/me/payment', 0),
          ('DELETE', SALE + '/orders/me', 0), ('GET', SALE + '/events', 0),
          ('GET', ADMIN, 1), ('GET', ADMIN + '/audit', 1), ('GET', ADMIN + '/orders', 1), ('GET', ADMIN + '/refunds', 1),
          ('POST', ADMIN + '/refunds', 1), ('GET', '/api/v1/admin/sales', 1), ('GET', '/metrics', 1), ('POST', ADMIN + '/pause', 1),
          ('POST', ADMIN + '/resume', 1), ('POST', ADMIN + '/restock', 1), ('PATCH', ADMIN, 1), ('POST', ADMIN + '/end', 1),
          ('DELETE', ADMIN, 1)]
BODIES = {'restock': '{"units":1}', 'refunds': '{"payment":"p","state":"done"}', 'PATCH': '{"title":"t"}'}


class Redis:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile('rb')

    def read(self):
        line = self.file.readline()[:-2]
        if line[:1] == b'-':
            raise ValueError(line)
        if line[:1] == b'$':
            return None if line == b'$-1' else self.file.read(int(line[1:]) + 2)[:-2]
        if line[:1] == b'*':
            return [self.read() for _ in range(int(line[1:]))]
        return line[1:]

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words))

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def dump(self):
        """What each key of ours holds."""
        keys = self('KEYS', 'seckill:*')
        for key in keys:
            self.send('DUMP', key)
        return {key: self.read() for key in keys}


class World:
    def __init__(self, data):
        key = f'{data}/key'
        with open(key, 'w') as file:
            file.write('k' * 40)
        self.service = Service(data, '--lab', '--payment-key', key, '--pay-url', 'http://127.0.0.1:9/')
        self.redis = Redis(f'{data}/redis.sock')
        self.redis('CONFIG', 'SET', 'appendfsync', 'no')  # nothing here is about the disk
        with open(f'{data}/admin.token') as file:
            self.bearer = 'Bearer ' + file.read().strip()

    def ask(self, method, path, is_admin):
        """Status and body; 0: there was no answer."""
        url = urllib.parse.urlsplit(self.service.admin if is_admin else self.service.url)
        body = BODIES.get(path.rsplit('/', 1)[1], BODIES.get(method, '' if method == 'POST' else None))
        headers = {'Authorization': self.bearer} if is_admin else {'X-User-Id': 'ann'}
        headers |= {'Idempotency-Key': 'k'} | ({'Content-Type': 'application/json'} if body else {})
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            is_stream = path.endswith('/events')
            return answer.status, answer.read1(64) if is_stream and answer.status == 200 else answer.read()
        except http.client.IncompleteRead:
            return 502, b'{"status":502}'  # a list that was broken off
        except (OSError, http.client.HTTPException):
            return 0, b''
        finally:
            connection.close()

    def is_whole(self, path, status, body):
        """A problem, or what a list has to be: lines of JSON; half of one is never said."""
        if status >= 400:
            return b'"status":%d' % status in body and json.loads(body)['status'] == status
        if path.endswith(('/orders', '/refunds')) and body:
            return all(json.loads(line.decode(errors='replace')) for line in body.splitlines())
        return True

    def remember(self):
        self.before = self.redis.dump()

    def restore(self):
        now = self.redis.dump()
        for key in now.keys() - self.before.keys():
            if b':{' in key:
                self.redis('DEL', key)
        for key, value in self.before.items():
            if now.get(key) != value and (b':{' in key or key == b'seckill:sales'):
                self.redis('RESTORE', key, 0, value, 'REPLACE')

    def ask_all(self, sale, what):
        """All routes; what each has said."""
        said = {}
        for method, path, is_admin in ROUTES:
            status, body = self.ask(method, path % sale if '%' in path else path, is_admin)
            said[method, path] = status
            is_problem = self.is_whole(path, status, body)
            if self.service.process.poll() is not None:
                raise SystemExit(f'{what}: {method} {path}: the instance has ended')
            if status == 0 or not is_problem:
                self.failures.append((what, method, path, status, body[:100]))
        return said

    def spoil(self, sale, what, *command):
        self.redis(*command)
        said = self.ask_all(sale, what)
        self.restore()
        return said


def spoil_fields(world, sale, seen):
    """Each field of each hash, each string, each score: all that is bad; and away. Of what no sale before had."""
    quiet = []
    for key in sorted(key for key in world.before if key.startswith(b'seckill:{%s' % sale.encode())):
        kind = world.redis('TYPE', key)
        if kind == b'hash':
            fields = world.redis('HKEYS', key)
            for field in fields:
                if (name := (key.rsplit(b':', 1)[1], field)) in seen:
                    continue
                seen.add(name)
                for bad in BAD + {b'orders': ORDERS, b'refunds': REFUNDS}.get(name[0], []):
                    said = world.spoil(sale, (key, field, bad[:30]), 'HSET', key, field, bad)
                    if key.endswith(b':sale') and field in NUMBERS and bad not in IS_NUMBER:
                        quiet += [(key, field, bad[:30], route) for route in READERS if said[route] < 500]
                world.spoil(sale, (key, field, None), 'HDEL', key, field)
        elif kind == b'string':
            for bad in BAD:
                world.spoil(sale, (key, bad[:30]), 'SET', key, bad)
        elif kind == b'zset':
            for score in ('-inf', 'inf', '-1', '1e300', '0.5'):
                world.spoil(sale, (key, score), 'ZADD', key, score, 'ann')
            for bad in BAD:
                world.spoil(sale, (key, bad[:30]), 'ZADD', key, 1, bad)
        elif kind == b'stream':
            for bad in BAD[1::3]:
                for field in ('event', 'left', 'order', 'epoch', 'starts_ms'):
                    world.spoil(sale, (key, field, bad[:30]), 'XADD', key, '*', field, bad)
    return quiet


def spoil_types(world, sale):
    """Each key of another type; those whom it concerns say so."""
    for key in sorted(key for key in world.before if key.startswith(b'seckill:{%s' % sale.encode())):
        for command in (('RPUSH', key, 'x'), ('SET', key, 'x'), ('HSET', key, 'x', 'x')):
            world.redis('DEL', key)
            said = world.spoil(sale, (key, command[0]), *command)
            if key.endswith((b'%s}:sale' % sale.encode(), b'%s}:stock' % sale.encode())) and command[0] == 'RPUSH':
                quiet = [route for route in READERS if said[route] < 500]
                check(f'{key.decode()} of another type: 5xx', not quiet, quiet)


NUMBERS = {b'initial', b'starts_ms', b'ends_ms', b'epoch', b'window_ms'}
READERS = [('GET', SALE), ('GET', ADMIN)]
SALES = {'plain': {}, 'paid': {'payment': {'windowMs': 600000, 'amount': 5, 'currency': 'CNY'}},
         'owed': {'payment': {'windowMs': 600000, 'amount': 5, 'currency': 'CNY'}}, 'room': {'waitingRoom': {'admitPerSecond': 5, 'places': 'arrival'}}, 'cut': {'segments': 2}}


def main(data):
    world = World(data)
    world.failures = []
    try:
        for sale, more in SALES.items():
            check(f'{sale} is put up', world.service.sell(sale, **more) == 201)
            world.ask('POST', f'/api/v1/sales/{sale}/orders', False)
            world.ask('POST', f'/api/v1/sales/{sale}/waiting-room', False)
        order = world.redis('HGET', 'seckill:{owed}:orders', 'ann').split(b':')[0]
        world.redis('HSET', 'seckill:{owed}:refunds', 'p', order + b':ann:5:CNY:late:owed:1', b'order:' + order, 'p')
        world.redis('ZREM', 'seckill:{owed}:due', 'ann')
        world.remember()
        seen = set()
        for sale, more in SALES.items():
            quiet = spoil_fields(world, sale, set() if more.get('segments') else seen)
            check(f'{sale}: whoever reads a field that is no number says 5xx', not quiet, quiet[:5])
            spoil_types(world, sale)
            check(f'{sale}: all is answered, and what is refused is a problem', not world.failures, world.failures[:5])
            world.failures = []
        check('it lives', world.service.process.poll() is None)
    finally:
        world.service.process.send_signal(signal.SIGTERM)
        world.service.process.wait()
    check('and ends well', world.service.process.returncode == 0, world.service.process.returncode)


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
