#!/usr/bin/python3
"""Who comes to a seckilld, and from where: IPv4 and IPv6, through proxies, from pages of other origins, and idle.

Needs BUILD_DIR; runs at the root."""
import glob, http.client, os, signal, socket, sys, tempfile, time, urllib.parse

sys.path.insert(0, 'app/test/support')
from blackbox import BIN, Service, check, checks_end, run

SHOP = 'https://shop.example'


def of_port(url, host):
    return f'http://{host}:{urllib.parse.urlsplit(url).port}'


def listens(data):
    with Service(data, '--lab', '--listen', '127.0.0.1:0', '--listen', '[::1]:0', '--trusted-proxy', '::1',
                 '--address-rate', '1:2') as service:
        service.sell('cup')
        check('it tells both addresses', len(service.urls) == 2 and service.urls[1].startswith('http://[::1]:'),
              service.urls)
        told = [service.buy('cup', buyer=f'b{i}', url=url)[0] for i, url in enumerate(service.urls)]
        check('it sells at both', told == [201, 201], told)
        near = [service.buy('cup', buyer=f'n{i}', url=service.urls[1], X_Forwarded_For=f'2001:db8:0:1::{i}')[0]
                for i in range(3)]
        far = service.buy('cup', buyer='far', url=service.urls[1], X_Forwarded_For='2001:db8:0:2::1')[0]
        check("a /64 behind a proxy is one client's", near == [201, 201, 429] and far == 201, (near, far))
        asked = run('seckilld', '--check', '--listen', service.urls[1].removeprefix('http://'))
        check('--check asks IPv6, too', asked.returncode == 0, asked.stderr)
    with Service(data, '--lab', '--listen', '[::]:0') as service:
        told = [service.buy('cup', buyer=f'd{i}', url=of_port(service.url, host))[0]
                for i, host in enumerate(('127.0.0.1', '[::1]'))]
        check('[::] is dual-stack', told == [201, 201], told)
    with Service(data, '--lab', '--listen', '[::]:0,127.0.0.1:0') as service:
        told = [service.buy('cup', buyer=f'e{i}', url=of_port(url, host))[0]
                for i, (url, host) in enumerate(zip(service.urls, ('[::1]', '127.0.0.1')))]
        check('beside an IPv4 address it is IPv6 alone', told == [201, 201], told)
    refused = run('seckilld', '--data', data, '--listen', '::1:8080')
    check('an address without brackets is refused in words',
          refused.returncode == 2 and '[::1]:8080' in refused.stderr, refused.stderr)


def refuses_another_civetweb(data):
    """One that takes connections by another call than ours stands in for."""
    library = next(iter(glob.glob('/usr/lib/*/libcivetweb.so.1')), None)
    os.mkdir(f'{data}/lib')
    with open(library, 'rb') as file:
        code = file.read()
    with open(f'{data}/lib/libcivetweb.so.1', 'wb') as file:
        file.write(code.replace(b'\0accept\0', b'\0listen\0'))
    refused = run('seckilld', '--data', data, '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0',
                  env={**os.environ, 'LD_LIBRARY_PATH': f'{data}/lib'})
    check('a civetweb that the door does not stand in front of is refused in words',
          refused.returncode == 1 and 'another call than accept()' in refused.stderr, refused)


def other_origins(data):
    with Service(data, '--lab', '--cors-origin', f'{SHOP},http://localhost:3000') as service:
        path = '/api/v1/sales/cup/orders'
        asks = {'Origin': SHOP, 'Access-Control-Request-Method': 'POST',
                'Access-Control-Request-Headers': 'authorization'}
        status, told, _ = service.ask(path, headers=asks, method='OPTIONS')
        check("a preflight is answered", status == 204 and told['Access-Control-Allow-Origin'] == SHOP and
              'POST' in told['Access-Control-Allow-Methods'] and
              'Authorization' in told['Access-Control-Allow-Headers'], (status, told))
        status, told, _ = service.ask(path, b'', {'Origin': SHOP, 'X-User-Id': 'page'}, 'POST')
        check('the page may read the answer', status == 201 and told['Access-Control-Allow-Origin'] == SHOP and
              told['Vary'] == 'Origin' and 'Retry-After' in told['Access-Control-Expose-Headers'], (status, told))
        status, told, _ = service.ask(path, b'', {'Origin': 'https://else.example', 'X-User-Id': 'else'}, 'POST')
        check('another page may not', 'Access-Control-Allow-Origin' not in told, told)
        status, told, _ = service.ask('/api/v1/admin/sales', headers=asks, method='OPTIONS', url=service.admin)
        check('nor any what operators are told', status == 405 and 'Access-Control-Allow-Origin' not in told, told)
    refused = run('seckilld', '--data', data, '--cors-origin', f'{SHOP}/')
    check('what is no origin is refused', refused.returncode == 2 and 'list of origins' in refused.stderr, refused.stderr)


def idle(data):
    with Service(data, '--lab', '--deadline-ms', '10', '--idle-ms', '1000') as service:
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(service.url).netloc, timeout=30)
        connection.request('GET', '/livez')
        answer = connection.getresponse()
        answer.read()
        check('an answer says so', answer.headers['Keep-Alive'] == 'timeout=1', answer.headers)
        check('and then it is closed', connection.sock.recv(1) == b'')
    with Service(data, '--lab') as service:
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(service.url).netloc, timeout=30)
        connection.request('POST', '/api/v1/sales/cup/orders', headers={
            'X-User-Id': 'form', 'Content-Type': 'text/plain;charset=UTF-8', 'Content-Length': '0'})
        answer = connection.getresponse()
        check('an empty body may have any type', answer.status == 201, answer.read())
        check('75 s by default', answer.headers['Keep-Alive'] == 'timeout=75', answer.headers)


def stands_still(data):
    """More come than are looked at in one turn, and all have asked in time while the service stood still."""
    with Service(data, '--lab', '--connections', '300') as service:
        host, port = service.url.removeprefix('http://').split(':')
        early = [socket.create_connection((host, int(port)), timeout=30) for _ in range(150)]
        service.ask('/livez')  # who came later is served: they are all known
        os.kill(service.process.pid, signal.SIGSTOP)
        for link in early:
            link.sendall(b'GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
        time.sleep(2.7)  # the first request has to be said within 2.5 s
        os.kill(service.process.pid, signal.SIGCONT)
        told = [link.recv(12) for link in early]
        check('who asked while it stood still is answered', told == [b'HTTP/1.1 200'] * len(early),
              sum(answer != b'HTTP/1.1 200' for answer in told))


with tempfile.TemporaryDirectory() as folder:
    listens(folder)
    refuses_another_civetweb(folder)
    other_origins(folder)
    idle(folder)
    stands_still(folder)
checks_end()
