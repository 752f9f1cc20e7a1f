#!/usr/bin/python3
"""Operators by name and role: what each may, whom the operators' log names, and a token that is changed while both are good.

Needs BUILD_DIR; runs at the root."""
import json, os, sys, tempfile

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, run

ROLES = ['read', 'operate', 'admin']
TOKENS = {role: (role + '-') * 8 for role in ROLES}
NAMES = {'read': 'wall', 'operate': 'maja@shop', 'admin': 'lee'}
# Method, path behind /api/v1/admin, body, least role, status for those who may.
ROWS = [
    ('GET', '/operator', None, 'read', 200),
    ('GET', '/sales', None, 'read', 200),
    ('GET', '/sales/cup', None, 'read', 200),
    ('GET', '/sales/cup/audit', None, 'read', 200),
    ('GET', '/sales/cup/refunds', None, 'read', 200),
    ('GET', '/sales/cup/orders', None, 'operate', 200),
    ('POST', '/sales', {'id': 'Not An Id', 'stock': 1}, 'operate', 400),
    ('PATCH', '/sales/cup', {'title': 'Cup'}, 'operate', 200),
    ('POST', '/sales/cup/pause', {}, 'operate', 200),
    ('POST', '/sales/cup/resume', {}, 'operate', 200),
    ('POST', '/sales/cup/restock', {'units': 1}, 'operate', 400),
    ('POST', '/sales/cup/refunds', {'payment': 'p', 'state': 'sent'}, 'operate', 404),
    ('POST', '/sales/cup/archive', {}, 'admin', 409),
    ('DELETE', '/sales/cup', None, 'admin', 409),
    ('POST', '/sales/cup/end', {}, 'admin', 200),
]


def ask(service, token, method, path, body=None):
    headers = {'Authorization': f'Bearer {token}', 'Content-Type': 'application/json'}
    data = None if body is None else json.dumps(body).encode()
    return service.ask(f'/api/v1/admin{path}', data, headers, method, service.admin)


def look_at_roles(service):
    service.sell('cup')
    for method, path, body, least, status in ROWS:
        for role in ROLES:
            may = ROLES.index(role) >= ROLES.index(least)
            got, _, said = ask(service, TOKENS[role], method, path, body)
            is_refused = got == 403 and said.get('field') == 'role' and f'role {least}' in said['detail']
            check(f'{role}: {method} {path} is {"taken" if may else "refused"}',
                  (got in (status, 409)) if may else is_refused, f'{got} {said}')
    got, _, said = ask(service, TOKENS['operate'], 'GET', '/operator')
    check('an operator is told name and role', said == {'name': 'maja@shop', 'role': 'operate'}, said)
    got, _, said = ask(service, 'x' * 32, 'GET', '/operator')
    check('nobody else is one', got == 403 and 'field' not in said, said)


def look_at_log(data):
    steps = [json.loads(line) for line in open(f'{data}/operators.ndjson')]
    by = {(step['what'], step['who']) for step in steps}
    check('the operators\' log has who did it, and from where',
          {('pause', 'maja@shop'), ('pause', 'lee'), ('end', 'lee'), ('create', 'operator')} <= by and
          all(step['from'] == '127.0.0.1' for step in steps) and ('end', 'maja@shop') not in by, by)
    check('no token stands in any log', not any(token in text for token in TOKENS.values()
                                                for text in (open(f'{data}/log').read(), json.dumps(steps))))


def look_at_rotation(service, path):
    def put(*lines):
        with open(path, 'w') as file:
            file.write('\n'.join(lines) + '\n')

    def may(token):
        return ask(service, token, 'GET', '/operator')[0] == 200

    old, new = 'old-' * 8, 'new-' * 8
    put(f'lee admin {old}')
    check('before: the old token alone', may(old) and not may(new))
    put(f'lee admin {new}', f'lee admin {old}')
    check('amid: both', may(old) and may(new))
    ctl = run('seckillctl', 'sale', 'list', '--admin', service.admin, '--admin-token', path)
    check('seckillctl takes the first line\'s', ctl.returncode == 0, ctl.stderr)
    put(f'lee admin {new}')
    check('after: the new token alone', may(new) and not may(old))
    put('lee admin short')
    check('a bad file changes nothing', may(new))


with tempfile.TemporaryDirectory() as data:
    path = f'{data}/admin.token'
    with open(path, 'w', opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write('0123456789abcdef' * 4 + '\n')
    with Service(data, '--lab') as service:
        service.sell('before')  # by the token alone
        with open(path, 'a') as file:
            file.writelines(f'{NAMES[role]} {role} {TOKENS[role]}\n' for role in ROLES)
        service.sell = lambda sale: ask(service, TOKENS['admin'], 'POST', '/sales', {'id': sale, 'stock': 100})
        look_at_roles(service)
        look_at_log(data)
        look_at_rotation(service, path)
checks_end()
