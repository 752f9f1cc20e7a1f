#!/usr/bin/python3
"""What a run of loadtest leaves: a result of its own whose fields the guide has, a table of it, and of the runs before the
newest ten.

Needs BUILD_DIR; runs at the root."""
import csv, json, os, re, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import check, checks_end, run

NEVER = 2 ** 22 + 1  # no process has this id
RUNNING = f'run-20000101-000000-{os.getpid()}'


def main(out):
    old = [f'run-20200101-0000{i:02}-{NEVER}' for i in range(12)]
    for name in [*old, RUNNING, 'run-of-somebody']:
        os.mkdir(f'{out}/{name}')
    told = run('loadtest', '--stock', '20', '--buyers', '200', '--connections', '20', '--repeat', '2', '--out', out)
    check('it passes', told.returncode == 0, told)
    check('it says how far it is', re.search(r'\nsale 1/2, \d+ s left\n', told.stdout), told)

    new = [name for name in os.listdir(out) if re.fullmatch(r'run-\d{8}-\d{6}-\d+', name) and name not in old + [RUNNING]]
    there = os.listdir(out)
    check('of older runs the newest stay', [name for name in old if name in there] == old[-9:], there)
    check('nor goes one that still runs, or what is no run', {RUNNING, 'run-of-somebody'} <= set(there), there)
    with open(f'{out}/result.json') as last, open(f'{out}/{new[0]}/result.json') as own:
        result, text = json.load(last), own.read()
    check('the result is in both places', len(new) == 1 and json.loads(text) == result, new)
    series = result['runs'][0]['series']['replies']['created']
    check('a list of numbers is one line', f'[{",".join(map(str, series))}]' in text, series)
    with open('loadtest/GUIDE.md') as file:
        guide = file.read()
    members = {*result, *result['runs'][0], *result['runs'][0]['load'], *result['machine'], *result['versions']}
    unknown = [member for member in members if f'`{member}`' not in guide]
    check('the guide has every field', not unknown, unknown)
    with open(f'{out}/result.csv') as file:
        rows = list(csv.DictReader(file))
    wanted = [(one['sale'], str(one['sold']), str(one['latency']['created']['count'])) for one in result['runs']]
    check('a row for each sale', [(row['sale'], row['sold'], row['latency.created.count']) for row in rows] == wanted, rows)


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
