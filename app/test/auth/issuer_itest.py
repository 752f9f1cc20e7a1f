#!/usr/bin/python3
"""Tokens of an issuer, made by PyJWT: each algorithm, each claim that is refused by name, keys that change.

Needs BUILD_DIR; runs at the root."""
import base64, http.server, json, os, sys, tempfile, threading, time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

sys.path.insert(0, 'app/test/support')
from blackbox import Service, check, checks_end, run

ISSUER, AUDIENCE = 'https://issuer.example/', 'shop'


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


KEYS = {
    'r': ('RS256', rsa.generate_private_key(65537, 2048)),
    'e': ('ES256', ec.generate_private_key(ec.SECP256R1())),
    'd': ('EdDSA', ed25519.Ed25519PrivateKey.generate()),
    'new': ('ES256', ec.generate_private_key(ec.SECP256R1())),
}


def jwk(kid):
    alg, key = KEYS[kid]
    public = key.public_key()
    if alg == 'RS256':
        n = public.public_numbers().n
        of_kind = {'kty': 'RSA', 'n': b64(n.to_bytes(256, 'big')), 'e': 'AQAB'}
    elif alg == 'ES256':
        p = public.public_numbers()
        of_kind = {'kty': 'EC', 'crv': 'P-256', 'x': b64(p.x.to_bytes(32, 'big')), 'y': b64(p.y.to_bytes(32, 'big'))}
    else:
        of_kind = {'kty': 'OKP', 'crv': 'Ed25519', 'x': b64(public.public_bytes(Encoding.Raw, PublicFormat.Raw))}
    return {'kid': kid, 'use': 'sig', 'alg': alg, **of_kind}


def token(kid='e', signer=None, alg=None, **claims):
    claims = {'sub': 'alice', 'exp': time.time() + 60, 'iss': ISSUER, 'aud': ['other', AUDIENCE], **claims}
    claims = {name: value for name, value in claims.items() if value is not None}
    of_key, key = KEYS[signer or kid]
    return jwt.encode(claims, key, algorithm=alg or of_key, headers={'kid': kid})


class Published(http.server.BaseHTTPRequestHandler):
    kids, is_up, asked = ['r', 'e', 'd'], True, 0

    def do_GET(self):
        Published.asked += 1
        body = json.dumps({'keys': [jwk(kid) for kid in Published.kids]}).encode() if Published.is_up else b'oops'
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def buy(service, bearer):
    return service.buy('cup', bearer)


def refused(service, claim, bearer):
    status, body = buy(service, bearer)
    check(f'refused by name: {claim}', status == 401 and body.get('detail', '').startswith(claim), (status, body))


def takes_what_issuers_make(service):
    for kid in 'red':
        status, body = buy(service, token(kid, sub=f'of-{kid}'))
        check(f'{KEYS[kid][0]} of PyJWT is good', status == 201 and body['buyer'] == f'of-{kid}', (status, body))
    status, body = buy(service, token(sub='google-oauth2|1038'))
    form = run('seckillctl', 'buyer', '--sub', 'google-oauth2|1038').stdout.strip()
    check('a subject of any form is a buyer, whose form seckillctl tells', status == 201 and body['buyer'] == form,
          (status, body, form))
    big = token(sub='big', groups=['g' * 60] * 80)
    check('a token of 6 KB is good', len(big) > 6000 and buy(service, big)[0] == 201, len(big))
    ahead = token(sub='ahead', nbf=time.time() + 5, iat=time.time() + 5)
    check("an issuer's clock may be seconds ahead", buy(service, ahead)[0] == 201)


def refuses_by_name(service):
    refused(service, 'exp:', token(exp=time.time() - 15))
    refused(service, 'exp:', token(exp=None))
    refused(service, 'nbf:', token(nbf=time.time() + 60))
    refused(service, 'iss:', token(iss='https://else.example/'))
    refused(service, 'aud:', token(aud=['other']))
    refused(service, 'aud:', token(aud=None))
    refused(service, 'sub:', token(sub=None))
    refused(service, 'sub:', token(sub='a\nb'))
    refused(service, 'signature:', token('e', signer='new'))
    refused(service, 'alg:', token('r', signer='e'))
    by_public_key = jwt.encode({'sub': 'alice', 'exp': time.time() + 60}, json.dumps(jwk('r')), algorithm='HS256')
    refused(service, 'signature:', by_public_key)
    refused(service, 'This is no signed JWT', jwt.encode({'sub': 'alice'}, None, algorithm='none'))
    refused(service, 'The token is longer', token(groups=['g' * 60] * 120))


def follows_the_issuer(service):
    Published.kids, before = ['e', 'new'], Published.asked
    check('a new key is asked for when a token names it', buy(service, token('new', sub='anew'))[0] == 201)
    refused(service, 'kid:', token('r'))
    check('and no other one within a minute', Published.asked == before + 1, Published.asked - before)
    Published.is_up = False
    check('the last good keys survive an outage', buy(service, token('new', sub='kept'))[0] == 201)


def reads_a_file(data):
    keys, key = f'{data}/keys', f'{data}/key'
    with open(keys, 'w') as file:
        json.dump({'keys': [jwk('d')]}, file)
    run('seckillctl', 'key', '--out', key)
    own = run('seckillctl', 'token', '--key', key, '--sub', 'our own').stdout.strip()
    with Service(data, '--token-jwks', keys, '--token-issuer', ISSUER, '--token-key', key) as service:
        check('keys may come from a file', buy(service, token('d', sub='filed', aud=None))[0] == 201)
        refused(service, 'aud:', token('d'))
        check('a token of ours, beside them, needs no issuer', buy(service, own)[0] == 201)
    with open(keys, 'w') as file:
        file.write('{"keys":[]}')
    failed = run('seckilld', '--data', data, '--token-jwks', keys)
    check('a file without usable keys ends the start in words', failed.returncode == 2 and 'none of its' in failed.stderr,
          failed.stderr)


def main(data):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Published)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_port}/jwks.json'
    with Service(data, '--token-jwks', url, '--token-issuer', ISSUER, '--token-audience', AUDIENCE) as service:
        service.sell('cup')
        takes_what_issuers_make(service)
        refuses_by_name(service)
        follows_the_issuer(service)
    reads_a_file(data)
    server.shutdown()


with tempfile.TemporaryDirectory() as folder:
    main(folder)
checks_end()
