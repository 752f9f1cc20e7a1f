#!/usr/bin/python3
"""app/lab/ARTICLES.md: every line of the articles is there, the plays it names come to their verdicts, the tests it names are there.

Needs BUILD_DIR; runs at the root."""
import glob, heapq, json, random, re, subprocess, sys

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, check, checks_end, run

LINES = {0: 24, 1: 27, 2: 11, 3: 7, 4: 12}
CLIENTS, TRY_MS, LIMIT_MS, MOST_MS = 20, 20, 60_000, 6400
DELAYS = {
    'fixed': lambda n, chance: 200,
    'doubled': lambda n, chance: min(200 * 2**n, MOST_MS),
    'random': lambda n, chance: chance.randrange(100, 300),
    'random, from a range that doubles': lambda n, chance: chance.randrange(min(200 * 2**n, MOST_MS)),
}


def retry(delay):
    """Served, tries, the end of the last: tries that overlap each other all fail, and are made again after their delays."""
    chance, served, tries, last = random.Random(1), 0, 0, 'never'
    due = [(0, client, 0) for client in range(CLIENTS)]
    while due and due[0][0] < LIMIT_MS:
        group = [heapq.heappop(due)]
        while due and due[0][0] < group[-1][0] + TRY_MS:
            group.append(heapq.heappop(due))
        tries += len(group)
        if len(group) == 1:
            served, last = served + 1, f'{group[0][0] + TRY_MS} ms'
        else:
            for at, client, n in group:
                heapq.heappush(due, (at + TRY_MS + delay(n, chance), client, n + 1))
    return f'| {served} | {tries} | {last} |'



rows = {}
for line in open('app/lab/ARTICLES.md'):
    if found := re.match(r'\| (\d)\.(\d+) \| .* \| (so|half|wrong) \| (.*) \|$', line):
        rows[int(found[1]), int(found[2])] = found[3], set(re.findall(r'`([a-z][a-z0-9_.-]+(?:\(\)|\*)?)`', found[4]))
text = open('app/lab/ARTICLES.md').read()
for name, delay in DELAYS.items():
    found = re.search(rf'^\| {name}: [^|]* (\|.*\|)$', text, re.M)
    check(f'retries, {name}: by these numbers', found and found[1] == retry(delay), retry(delay))
wanted = {(article, n) for article, last in LINES.items() for n in range(1, last + 1)}
check('each of the 81 lines has its row', set(rows) == wanted and len(rows) == 81, set(rows) ^ wanted)

code = '\n'.join(open(path).read() for path in glob.glob('*/test/**/*.c', recursive=True))
tests = set(re.findall(r'^TEST(?:_WITH|_EACH)?\((\w+)', code, re.M))
files = [name for house in ('*/test/**', 'lockkit/interop/**', 'web/test') for name in glob.glob(f'{house}/*.*', recursive=True)]
plays = {play['name']: play for play in json.loads(run('seckillctl', 'lab', 'list', '--json').stdout)}


def is_there(name):
    if name.endswith('()'):
        return name[:-2] in tests
    if name.endswith('*'):
        return any(path.split('/')[-1].startswith(name[:-1] + '.') for path in files)
    return name in plays


missing = {row: name for row, (_, names) in rows.items() for name in names if not is_there(name)}
check('what a row names is there', not missing, missing)
check('and it names something', all(names for _, names in rows.values()), [row for row in rows if not rows[row][1]])
named = {name for _, names in rows.values() for name in names if name in plays}
wrong = [row for row, (word, names) in rows.items() if word == 'wrong' and not names & named]
check('what is wrong is refuted by a play', not wrong, wrong)

played = subprocess.run([f'{BIN}/seckillctl', 'lab', 'run', 'all', '--json'], capture_output=True, text=True, timeout=280)
verdicts = {one['name']: one['verdict'] for one in json.loads(played.stdout)}
failed = {name: verdicts.get(name) for name in named
          if not plays[name].get('lacks') and not (name in verdicts and verdicts[name]['isExpected'])}
check(f'all {len(named)} plays come to their verdicts', not failed, failed)
checks_end()
