#!/usr/bin/python3
"""report: which files it takes, what it says of the others, and what of them is in the page. How the page draws is
looked at in web/test/report.test.mjs.

Needs BUILD_DIR; runs at the root."""
import json, os, sys, tempfile
from html.parser import HTMLParser

sys.path.insert(0, 'app/test/support')
from blackbox import check, checks_end, run

SWEEP = {'mode': 'sweep', 'points': [{'guard': 'mutex', 'purchases_per_s': {'repeats': [1]}}]}
AUDIT = {'mode': 'audit', 'story': {'buyer': 'b', 'events': []}}
REFUSED = [  # what stands in the file, what is said
    ('', 'is no JSON'),
    ('{"mode":"sweep",', 'x.json:1: is no JSON'),
    ('[]', 'is no result of loadtest or lockbench'),
    ('{"mode":7}', 'is no result of loadtest or lockbench'),
    ('{"mode":"vegeta"}', 'is no result of loadtest or lockbench'),
    ('{"mode":"sweep"}', 'without "guard" in "points"'),
    ('{"mode":"sweep","points":[]}', 'loadtest --sweep all'),
    ('{"mode":"sweep","points":[{"guard":7}]}', 'without "guard" in "points"'),
    ('{"mode":"verify","runs":[{}]}', 'without "load" in "runs"'),
    ('{"mode":"compare"}', 'make it anew: loadtest --guard all'),
    ('{"mode":"locks","rows":[]}', 'make it anew: lockbench --json FILE'),
    ('{"mode":"audit"}', 'make it anew: audit --json'),
]
FLAGS = [  # words, status, what is said
    ([], 2, 'report: no file given'),
    (['--output', 'x'], 2, 'report: no flag "--output"'),
    (['--out'], 2, 'report: --out: the value is missing'),
    (['--out=', 'x.json'], 2, 'report: --out: is empty'),
    (['--out=/proc/none', '/nonexistent/x.json'], 2, '/nonexistent/x.json: '),
    (['--help'], 0, 'loadtest --sweep all'),
    (['--version'], 0, 'report '),
]


class Page(HTMLParser):
    """What a page names, and the texts of its scripts by their type."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.scripts, self.inside = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.loads += [found[name] for name in ('src', 'href') if found.get(name)]
        self.inside = found.get('type') if tag == 'script' else None

    def handle_data(self, data):
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, '') + data


def main(folder):
    path, out = f'{folder}/x.json', f"{folder}/a 'quoted' page"
    index = f'{out}/index.html'

    def report(content, *more):
        with open(path, 'w') as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return run('report', '--out', out, path, *more)

    for content, said in REFUSED:
        told = report(content)
        is_said = told.returncode == 2 and path in told.stderr and said in told.stderr
        check(f'{content or "an empty file"} is refused', is_said and not os.path.exists(index), told)
    for words, status, said in FLAGS:
        told = run('report', *words)
        check(f'report {words}', told.returncode == status and said in told.stdout + told.stderr, told)
    told = report(SWEEP, path)
    check('a second of its kind is refused', told.returncode == 2 and 'is a sweep, and so is' in told.stderr, told)
    told = run('report', '--out=/proc/none', path)
    check('a folder that cannot be is named', told.returncode == 3 and '/proc/none: ' in told.stderr, told)

    evil = "x' `touch /tmp/never`\n\"</title></script><script>alert(1)</script><!-- & \u2028 蓝牙"
    hostile = dict(SWEEP, points=[dict(SWEEP['points'][0], guard=evil)])
    told = report(hostile)
    check('a page is written, and named', told.returncode == 0 and told.stdout == f'{index}\n', told)
    with open(index) as file:
        text = file.read()
    page = Page(text)
    found = json.loads(page.scripts['application/json'])
    check('text of a file stays text', found['files'] == [{'path': path, 'kind': 'sweep', 'result': hostile}], found)
    check('of two scripts', text.count('</script>') == 2 and set(page.scripts) == {'application/json', 'module'})
    check('it names no other file', page.loads == [] and "default-src 'none'" in text and '@import' not in text, page.loads)
    check('no part of it is left', os.listdir(out) == ['index.html'])
    kinds = {kind['mode']: kind['command'] for kind in found['kinds']}
    check('it knows how to make every kind', kinds['bench'] == 'loadtest --bench' and len(kinds) == 8, kinds)
    check('what an audit found is taken, too', report(AUDIT).returncode == 0)


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
