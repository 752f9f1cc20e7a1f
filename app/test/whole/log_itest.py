#!/usr/bin/python3
"""The log for machines: every line on both streams is JSON with its fields, and --access-log has a line for each request.

Needs BUILD_DIR; runs at the root."""
import json, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, eventually, run

JSON = ['--log-format', 'json']
REQUESTS = '/api/v1/sales/{id}/orders'


def lines_of(path):
    return [json.loads(line) for line in open(path)]


def fields(line, *names):
    return {name: line.get(name) for name in names}


def look_at_log(data):
    with Service(data, '--lab', '--access-log', *JSON) as service:
        service.sell('cup')
        service.buy('cup', buyer='secret-buyer')
        service.buy('cup', buyer='b2')
        service.ask('/none?token=secret-query')
        found = eventually(lambda: any(line.get('path') == '/none' for line in lines_of(f'{data}/log')))
    check('every line on stderr is JSON', bool(found))
    rest = [json.loads(line) for line in service.process.stdout]
    check('nothing else comes on stdout', rest == [], rest)
    lines = lines_of(f'{data}/log')
    check('each has stamp, level, event and words',
          all({'t', 'level', 'event', 'msg'} <= line.keys() for line in lines), lines)
    created = next(line for line in lines if line['event'] == 'create')
    check('a step of an operator has sale, units, who and from',
          fields(created, 'sale', 'units', 'who', 'from') ==
          {'sale': 'cup', 'units': 100, 'who': 'operator', 'from': '127.0.0.1'} and created['duration_ms'] > 0, created)
    bought = [line for line in lines if line['event'] == 'request' and line['path'] == REQUESTS]
    check('a request has method, path, sale, status, who and duration',
          len(bought) == 2 and all(fields(line, 'method', 'sale', 'status', 'who') ==
                                   {'method': 'POST', 'sale': 'cup', 'status': 201, 'who': '127.0.0.1'}
                                   and line['duration_ms'] > 0 for line in bought), bought)
    lost = [line for line in lines if line.get('path') == '/none']
    check('one to nowhere, too', [line['status'] for line in lost] == [404], lost)
    check('no buyer, token or query is in it', 'secret' not in open(f'{data}/log').read())
    check('the end is told', lines[-1]['event'] == 'stop', lines[-1])


def look_at_refusals():
    for flag, says in (('--batch=x', 'is not a number'), ('--guard=nope', 'is no guard')):
        made = run('seckilld', *JSON, flag)
        line = json.loads(made.stderr) if made.stderr.count('\n') == 1 else {}
        check(f'{flag}: why it does not start is JSON, too',
              made.returncode == 2 and line.get('event') == 'start' and line['level'] == 'error' and says in line['msg'],
              made.stderr)


with tempfile.TemporaryDirectory() as data:
    look_at_log(data)
look_at_refusals()
with tempfile.TemporaryDirectory() as data, Service(data, '--lab', *JSON) as service:
    service.ask('/livez')
    check('without --access-log no request is told',
          not any(line['event'] == 'request' for line in lines_of(f'{data}/log')))
checks_end()
