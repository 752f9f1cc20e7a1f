#!/usr/bin/env python3
"""Somebody else's flash sale, on no Redis of ours: the commands of loadtest/GUIDE.md load and judge it, the example of
its format is read, and what is not of the format is named. k6 and vegeta are stand-ins here: no gate has them.

Needs BUILD_DIR, node and curl; runs at the root."""
import http.server, json, os, pathlib, re, shutil, subprocess, sys, tempfile, threading

sys.path.insert(0, 'app/test/support')
from blackbox import check, checks_end

ROOT, AUDIT = pathlib.Path.cwd(), os.path.abspath(os.environ.get('BUILD_DIR', 'build/release')) + '/audit'
GUIDE = (ROOT / 'loadtest/GUIDE.md').read_text()
SECTION = re.search(r'^## Prove your own service$(.*?)^## ', GUIDE, re.M | re.S)[1]
COMMANDS = re.search(r'^```sh$(.*?)^```$', SECTION, re.M | re.S)[1]
EXAMPLE = re.search(r'^```json$\n(.*?)^```$', SECTION, re.M | re.S)[1]
PROMISES = {'oversells': 'never oversold', 'sells twice': 'one order per buyer', 'undersells': 'no undersell',
            'denies winners': 'an honest answer'}


class Shop:
    """Fifty units, the four answers, and a flaw if one is wanted."""

    def __init__(self, flaw=None):
        self.orders, self.told, self.keys, self.lock = 0, {}, {}, threading.Lock()
        self.units = {'oversells': 53, 'undersells': 40}.get(flaw, 50)
        shop = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                with shop.lock:
                    status, body, more = shop.buy(self.headers['X-User-Id'], self.headers['Idempotency-Key'], flaw)
                text = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {'Content-Length': len(text), **more}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}/orders'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def buy(self, buyer, key, flaw):
        if key in self.keys:
            return 201, {'id': self.keys[key]}, {'Idempotency-Replayed': 'true'}
        is_winner = buyer in self.told
        if is_winner and flaw not in ('sells twice', 'denies winners'):
            return 409, {'type': '/problems/already-ordered', 'orderId': self.told[buyer]}, {}
        if self.orders == self.units or (is_winner and flaw == 'denies winners'):
            return 409, {'type': '/problems/sold-out'}, {}
        self.orders += 1
        self.told[buyer] = self.keys[key] = f'o{self.orders}'
        return 201, {'id': f'o{self.orders}'}, {}


K6 = r"""#!/bin/sh
# k6 run --quiet --log-format raw --console-output FILE -e NAME=VALUE... SCRIPT
out= script=
while [ $# -gt 0 ]; do
    case $1 in --console-output) out=$2; shift ;; -e) export "$2"; shift ;; --log-format) shift ;; *) script=$1 ;; esac
    shift
done
mkdir -p k6/node_modules/k6 && cp "$(dirname "$script")"/* k6/ && cd k6 || exit 1
echo '{"type":"module"}' >package.json
echo '{"type":"module","exports":{"./http":"./http.js","./execution":"./execution.js"}}' >node_modules/k6/package.json
echo 'export default { scenario: { iterationInTest: 0 } };' >node_modules/k6/execution.js
cat >node_modules/k6/http.js <<'END'
import { spawnSync } from 'node:child_process';
export default {
  post(url, _, { headers }) {
    const words = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const { stdout } = spawnSync('curl', ['-s', '-i', '-X', 'POST', ...words, url]);
    const [head, body] = String(stdout).split('\r\n\r\n');
    const told = Object.fromEntries(head.split('\r\n').slice(1).map((line) => line.split(': ')));
    return { status: +head.split(' ')[1] || 0, body, headers: told };
  },
};
END
cat >run.mjs <<'END'
import exec from 'k6/execution';
globalThis.__ENV = process.env;
const { default: once, options } = await import('./k6.js');
for (let i = 0; i < options.scenarios.sale.iterations; i++) {
  exec.scenario.iterationInTest = i;
  once();
}
END
node run.mjs >"../$out"
"""
VEGETA = r"""#!/usr/bin/env python3
# vegeta attack ... -targets FILE | vegeta encode: each target once, as lines of JSON
import base64, datetime, http.client, json, sys, urllib.parse
if sys.argv[1] == 'encode':
    sys.stdout.write(sys.stdin.read())
    sys.exit()
for seq, line in enumerate(open(sys.argv[sys.argv.index('-targets') + 1])):
    target = json.loads(line)
    url = urllib.parse.urlsplit(target['url'])
    link = http.client.HTTPConnection(url.netloc)
    now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ')
    link.request('POST', url.path, headers={name: values[0] for name, values in target['header'].items()})
    answer = link.getresponse()
    print(json.dumps({'seq': seq, 'code': answer.status, 'timestamp': now, 'latency': 1000, 'error': '',
                      'url': target['url'], 'body': base64.b64encode(answer.read()).decode(),
                      'headers': {name: [value] for name, value in answer.getheaders()}}))
"""


def audit(*words):
    return subprocess.run([AUDIT, *words], capture_output=True, text=True, timeout=60)


def the_guides_commands(flaw=None):
    """Run in a folder that looks like the root of the project."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / 'bin').mkdir()
        (place / 'build').mkdir()
        (place / 'loadtest').symlink_to(ROOT / 'loadtest')
        (place / 'build/release').symlink_to(os.path.dirname(AUDIT))
        for name, text in ('k6', K6), ('vegeta', VEGETA):
            (place / 'bin' / name).write_text(text)
            (place / 'bin' / name).chmod(0o755)
        shop = Shop(flaw)
        commands = 'set -e\n' + COMMANDS.replace('http://127.0.0.1:8080/orders', shop.url)
        done = subprocess.run(['sh', '-c', commands], cwd=folder, capture_output=True, text=True, timeout=300,
                              env={**os.environ, 'PATH': f"{place / 'bin'}:{os.environ['PATH']}"})
        shop.server.shutdown()
        return done


def judge(units, text):
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as file:
        file.write(text)
        file.flush()
        return audit('--units', str(units), '--clients', file.name)


def adapt(text):
    return subprocess.run(['node', 'loadtest/examples/vegeta.mjs'], input=text, capture_output=True, text=True)


if shutil.which('node'):
    done = the_guides_commands()
    check("the guide's commands: a sale that keeps its promises", done.returncode == 0 and '\npass\n' in done.stdout, done)
    heard = '50 orders told, of 50 units', '130 refused purchases', '160 buyers'
    check('k6 and vegeta were heard', all(words in done.stdout for words in heard), done)
    for flaw, promise in PROMISES.items():
        done = the_guides_commands(flaw)
        check(f'a shop that {flaw} is found out', done.returncode == 1 and f'promise broken: {promise}\n' in done.stdout,
              done)
    recorded = (ROOT / 'loadtest/test/audit/vegeta.jsonl').read_text()
    said = judge(3, adapt(recorded).stdout)
    check('results recorded with vegeta are judged', said.returncode == 0 and '3 orders told' in said.stdout, said)
    check('as those of the sale that it was', judge(2, adapt(recorded).stdout).returncode == 1)
    said = adapt(re.sub('"body":"[^"]*"', '"body":""', recorded))
    check('results without bodies are refused', said.returncode == 2 and 'line 1: "body" is missing' in said.stderr, said)
    said = adapt(re.sub('#v-[^"]*', '', recorded))
    check('and those that nobody knows the buyers of', said.returncode == 2 and 'line 1: "url" has no' in said.stderr, said)

said = judge(1, EXAMPLE)
check('the example of the format is read, and passes', said.returncode == 0 and '1 orders told, of 1 units' in said.stdout,
      said)
lines = EXAMPLE.splitlines(True)
check('of a first line cut short nothing is proved', judge(1, lines[0][:-5]).returncode == 2)
for what, text, words in [
    ('no JSON', 'order 17\n', ':1: not a JSON object'),
    ('a time that is none', EXAMPLE.replace('"t":2000', '"t":"late"'), ':3: no time "t"'),
    ('no buyer', EXAMPLE.replace('"buyer":"bob",', ''), ':2: invoke without "buyer"'),
    ('an order that is a number', EXAMPLE.replace('"order":"17","replayed"', '"order":17,"replayed"'), ':6: "order"'),
    ('a misspelt refusal', EXAMPLE.replace('"sold-out"', '"soldout"'), ':4: "status" and "type"'),
    ('a refusal without its reason', EXAMPLE.replace(',"type":"sold-out"', ''), ':4: refused without "type"'),
    ('an answer to nobody', ''.join(lines[1:]), ':2: "req"'),
    ('an event that is none', EXAMPLE.replace('"invoke"', '"asked"', 1), ':1: unknown event "e"'),
]:
    said = judge(1, text)
    check(f'{what} is named by line and field, and is no pass',
          said.returncode == 2 and words in said.stderr and not said.stdout, said)
said = judge(1, EXAMPLE.replace('"order":"17","replayed"', '"order":"18","replayed"'))
check('a broken promise is named', said.returncode == 1 and 'promise broken: one order per buyer\n' in said.stdout, said)
for words, complaint in [(['--units', '5'], '--units: give --clients, too'),
                         (['--units', 'x', '--clients', 'f'], '--units: "x" is not a number from 0 to 999999999'),
                         (['--units', '1', '--sale', 's', '--clients', 'f'], '--units: not with --redis, --sale')]:
    said = audit(*words)
    check(f'{" ".join(words)} is refused', said.returncode == 2 and complaint in said.stderr, said)
checks_end()
