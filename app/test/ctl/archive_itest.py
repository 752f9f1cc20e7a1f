#!/usr/bin/python3
"""sale archive: all of a sale into a file and only then out of Redis, beside a sale that sells, killed wherever it may be.

Needs BUILD_DIR; runs at the root."""
import http.client, json, os, signal, socket, subprocess, sys, tempfile, threading, urllib.parse

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, Service, check, checks_end, eventually, run

BUYERS, SALE = 300, '/api/v1/admin/sales/'


class World:
    def __init__(self, data):
        self.data, self.file, self.token = data, f'{data}/lamp.ndjson', f'{data}/admin.token'
        self.start()

    def start(self):
        self.service = Service(self.data, '--lab')

    def redis(self, *words):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f'{self.data}/redis.sock')
            link.sendall((' '.join(words) + '\r\n').encode())
            with link.makefile('rb') as answers:
                line = answers.readline()
                if line[:1] != b'*':
                    return line[1:].strip().decode()
                return [answers.readline() and answers.readline().strip().decode() for _ in range(int(line[1:]))]

    def admin(self, method, path):
        with open(self.token) as file:
            headers = {'Authorization': f'Bearer {file.read().strip()}'}
        body = b'' if method == 'POST' else None
        return self.service.ask(SALE + path, body, headers, method, self.service.admin)

    def words(self, sale, out=None):
        return [f'{BIN}/seckillctl', 'sale', 'archive', sale, '--out', out or self.file, '--admin', self.service.admin,
                '--admin-token', self.token]

    def archive(self, sale='lamp', out=None):
        return subprocess.run(self.words(sale, out), capture_output=True, text=True, timeout=60)

    def put_up(self, sale, count=BUYERS, **more):
        """Sold to so many, and over; the orders."""
        check(f'{sale} is put up', self.service.sell(sale, **more) == 201)
        self.redis('SET', f'seckill:{{{sale}}}:stock', '100') if not more else None
        orders = {}
        for i in range(count):
            status, order = self.service.buy(sale, buyer=f'b{i}', Idempotency_Key=f'k{i}')
            orders[f'b{i}'] = order.get('id') if status == 201 else None
        self.admin('POST', f'{sale}/end')
        return {buyer: order for buyer, order in orders.items() if order}

    def left_of(self, sale):
        return [key for key in self.redis('KEYS', f'seckill:{{{sale}*') if not key.endswith((':fence', ':lock'))]


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def orders_of(lines):
    return {line['field']: line['value'].split(':')[0] for line in lines if line.get('key', '').endswith(':orders')}


def sold_in(lines):
    """By the ledger."""
    words = [word for line in lines if line.get('key', '').endswith(':ledger') for word in line['words']]
    return {word.split(':')[1]: word.split(':')[0] for name, word in zip(words, words[1:]) if name == 'order'}


def is_whole(lines, orders):
    sale = [line['field'] for line in lines if line.get('key', '').endswith(':sale')]
    return orders_of(lines) == orders and sold_in(lines) == orders and {'title', 'initial', 'epoch'} <= set(sale)


class Buying(threading.Thread):
    """Whoever buys from another sale, all the while."""

    def __init__(self, url, sale):
        super().__init__()
        self.url, self.sale, self.ends, self.said = urllib.parse.urlsplit(url), sale, threading.Event(), []

    def run(self):
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=30)
        while not self.ends.is_set():
            connection.request('POST', f'/api/v1/sales/{self.sale}/orders', b'', {'X-User-Id': f'{self.name}-{len(self.said)}'})
            answer = connection.getresponse()
            answer.read()
            self.said.append(answer.status)


def beside_a_sale_that_sells(world):
    orders = world.put_up('lamp', 100)
    check('another one is put up', world.service.sell('cup') == 201)
    world.redis('SET', 'seckill:{cup}:stock', '100000')
    buyers = [Buying(world.service.url, 'cup') for _ in range(4)]
    for buyer in buyers:
        buyer.start()
    eventually(lambda: all(buyer.said for buyer in buyers))
    archived = world.archive()
    before = [len(buyer.said) for buyer in buyers]
    eventually(lambda: all(len(buyer.said) > count for buyer, count in zip(buyers, before)))
    for buyer in buyers:
        buyer.ends.set()
        buyer.join()
    said = [status for buyer in buyers for status in buyer.said]
    check('it is archived', archived.returncode == 0, archived.stderr)
    check('the other one sold on, to everybody', set(said) == {201}, sorted(set(said)))
    lines = read(world.file)
    check('all of it is in the file', is_whole(lines, orders), (len(lines), len(orders), lines[-1:]))
    check('...which ends with its name', lines[-1]['archive'] == 'lamp', lines[-1])
    check('...and is ours alone', os.stat(world.file).st_mode & 0o777 == 0o600)
    check('nothing is left in Redis', world.left_of('lamp') == [], world.left_of('lamp'))
    check('...nor on the list', world.redis('SMEMBERS', 'seckill:sales') == ['cup'])
    metrics = eventually(lambda: (text := world.service.ask('/metrics', url=world.service.admin)[2]) and '"lamp"' not in text)
    check('...nor in metrics', metrics)
    again = world.archive()
    check('asked again, it says that it is done', again.returncode == 0 and 'before' in again.stdout, again)
    check('the file is as it was', read(world.file) == lines)


def what_is_refused(world):
    check('a sale that goes on', world.service.sell('lamp') == 201)
    before = read(world.file)
    refused = world.archive(out=f'{world.data}/other')
    check('is not archived', refused.returncode == 1 and 'not over' in refused.stderr, refused)
    check('and no file is made', not [name for name in os.listdir(world.data) if name.startswith('other')])
    world.admin('POST', 'lamp/end')
    refused = world.archive()
    check("another sale's file stays", refused.returncode == 1 and 'name another' in refused.stderr, refused)
    check('...as it was', read(world.file) == before)
    check('and its keys, too', world.redis('EXISTS', 'seckill:{lamp}:ledger') == '1')
    refused = world.archive(out=f'{world.data}/none/file')
    check('no folder, no archive', refused.returncode == 1 and 'No such file' in refused.stderr, refused)
    check('none without --out', run('seckillctl', 'sale', 'archive', 'lamp').returncode == 2)
    check('a new file it is', world.archive(out=f'{world.data}/other').returncode == 0)
    check('of a sale that never was there is none', world.archive('never', f'{world.data}/never').returncode == 1)


def killed(world, name, begin, **more):
    """Killed by `begin`; asked again, it comes to its end, and the file has all."""
    orders = world.put_up(name, 60, **more)
    path = f'{world.data}/{name}.ndjson'
    begin(world, name, path)
    again = world.archive(name, path)
    check(f'{name}: asked again it comes to its end', again.returncode == 0, again)
    check(f'{name}: the file has all', is_whole(read(path), orders), path)
    check(f'{name}: nothing is left', world.left_of(name) == [] and world.redis('SISMEMBER', 'seckill:sales', name) == '0',
          world.left_of(name))


def kill_command(world, name, path):
    """As soon as it writes."""
    command = subprocess.Popen(world.words(name, path), stdout=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(f'{path}.part') or command.poll() is not None)
    command.send_signal(signal.SIGKILL)
    command.wait()
    check(f'{name}: killed before the file is in place, all is in Redis',
          os.path.exists(path) or world.redis('EXISTS', f'seckill:{{{name}}}:ledger') == '1')


def kill_service(world, name, path):
    """Amid its answer, or before."""
    command = subprocess.Popen(world.words(name, path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(f'{path}.part') or command.poll() is not None)
    world.service.process.kill()
    world.service.process.wait()
    command.wait()
    world.start()


def take_file(world, name, path):
    """The file is in place, nothing is deleted; some of it may be lost of what is fetched anew."""
    fetched = world.admin('POST', f'{name}/archive')
    with open(path, 'w') as file:
        file.write(fetched[2])


def stop_amid_removal(world, name, path):
    take_file(world, name, path)
    world.redis('SREM', 'seckill:sales', name)


def stop_amid_segments(world, name, path):
    take_file(world, name, path)
    for key in world.left_of(name):
        if key.split('}')[0].endswith('1'):
            world.redis('DEL', key)


def main(data):
    world = World(data)
    try:
        beside_a_sale_that_sells(world)
        what_is_refused(world)
        killed(world, 'in-segments', lambda *_: None, segments=2)
        killed(world, 'command', kill_command)
        killed(world, 'service', kill_service)
        killed(world, 'in-place', take_file)
        killed(world, 'off-the-list', stop_amid_removal)
        killed(world, 'half', stop_amid_segments, segments=2)
    finally:
        world.service.process.terminate()
        world.service.process.wait()


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
