"""For tests that look at the programs from outside: checks as TAP, and a seckilld of one's own.

Needs BUILD_DIR; runs at the root."""
import json, os, re, subprocess, sys, time, urllib.error, urllib.request

BIN = os.environ.get('BUILD_DIR', 'build/release')
_checks = _failures = 0


def check(what, is_good, said=''):
    global _checks, _failures
    _checks += 1
    _failures += not is_good
    print(f"{'ok' if is_good else 'not ok'} {_checks} - {what}", flush=True)
    if not is_good:
        print(f'# {said}', file=sys.stderr, flush=True)


def skip(what, why):
    global _checks
    _checks += 1
    print(f'ok {_checks} - {what} # SKIP {why}', flush=True)


def checks_end():
    print(f'1..{_checks}')
    sys.exit(_failures > 0)


def eventually(is_so, seconds=30):
    """What is_so() gives once it is true, or None; errors of the system are a no."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if found := is_so():
                return found
        except OSError:
            pass
        time.sleep(0.02)
    return None


def run(program, *words, **more):
    return subprocess.run([f'{BIN}/{program}', *words], capture_output=True, text=True, timeout=60, **more)


class Service:
    """A seckilld on free ports, unless the flags say others, with a data folder that stays."""

    def __init__(self, data, *flags):
        listens = [] if '--listen' in flags else ['--listen', '127.0.0.1:0']
        self.data = data
        self.process = subprocess.Popen(
            [f'{BIN}/seckilld', *listens, '--admin-listen', '127.0.0.1:0', '--data', data, *flags],
            stdout=subprocess.PIPE, stderr=open(f'{data}/log', 'a'), text=True)
        line = self.process.stdout.readline()
        self.urls = re.search(r'buyers (.*), admin', line)[1].split()
        self.url = self.urls[0]
        self.admin = re.search(r'admin (\S+),', line)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body=None, headers=None, method=None, url=None):
        """Status, headers and body (JSON, or text where it is none)."""
        request = urllib.request.Request((url or self.url) + path, data=body, method=method, headers=headers or {})
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            said = answer.read().decode()
        try:
            return answer.status, answer.headers, json.loads(said)
        except ValueError:
            return answer.status, answer.headers, said

    def sell(self, sale, **more):
        """Put up a sale of 100 units."""
        with open(f'{self.data}/admin.token') as file:
            bearer = file.read().strip()
        body = json.dumps({'id': sale, 'stock': 100, **more}).encode()
        headers = {'Authorization': f'Bearer {bearer}', 'Content-Type': 'application/json'}
        return self.ask('/api/v1/admin/sales', body, headers, url=self.admin)[0]

    def buy(self, sale, bearer=None, buyer=None, url=None, **headers):
        """Status and body of a purchase by a token's buyer, or (with --lab) by name."""
        who = {'Authorization': f'Bearer {bearer}'} if bearer else {'X-User-Id': buyer}
        named = {name.replace('_', '-'): value for name, value in headers.items()}
        status, _, body = self.ask(f'/api/v1/sales/{sale}/orders', b'', {**who, **named}, 'POST', url)
        return status, body
