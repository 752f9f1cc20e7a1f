/*
 * Purchases per second beside peers, in one run: nginx with Lua, node and Go sell with one script each, no lock and no
 * append-only file; seckilld sells as it always does, its file on a RAM disk. The same wrk script for all, in turns that
 * are shuffled; what counts is the orders that Redis has. run.mjs PROGRAMS OUT [SECONDS [REPEAT]]; `make bench PEERS=1`.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const CONNECTIONS = [64, 1024];
const MUST = { 64: 1.3, 1024: 2.2 };
const AIM = { 64: 1.5, 1024: null };
const STOCK = 100_000_000;
const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const [programs, out, seconds = '3', repeat = '3'] = process.argv.slice(2);
if (!out) {
  console.error('usage: run.mjs PROGRAMS OUT [SECONDS [REPEAT]]');
  process.exit(2);
}
const built = path.resolve('build/peers');
const dir = mkdtempSync('/dev/shm/peers-');
chmodSync(dir, 0o711); /* nginx' workers are of another user when we are root */
const socket = path.join(dir, 'redis.sock');
const SCRIPT = `if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 2 end
if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 0 end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1`;

/* ---- servers ---- */

const children = [];

function start(name, program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], detached: true });
  child.on('exit', (status) => {
    if (!child.isStopping) throw new Error(`${name} ended by itself: ${status}`);
  });
  children.push(child);
}

function stopAll() {
  for (const child of children.reverse()) {
    child.isStopping = true;
    try {
      process.kill(-child.pid, 'SIGTERM');
    } catch {
      /* it has ended */
    }
  }
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

const freePort = () =>
  new Promise((done) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

async function isThere(port) {
  for (let i = 0; i < 200; i++) {
    const found = await new Promise((done) => {
      const one = net.connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false));
      one.once('connect', () => one.destroy());
    });
    if (found) return;
    await pause(50);
  }
  throw new Error(`nobody listens on port ${port}`);
}

const QUIET = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
const asked = (words, at = socket) => execFileSync('redis-cli', ['-s', at, ...words], QUIET).trim();

async function startPeers() {
  start('redis-server', 'redis-server', [
    '--port',
    '0',
    '--unixsocket',
    socket,
    '--unixsocketperm',
    '777',
    '--save',
    '',
    '--dir',
    dir,
  ]);
  for (let i = 0; i < 100 && !answers(); i++) await pause(50);
  const digest = asked(['SCRIPT', 'LOAD', SCRIPT]);
  const [nginx, node, go] = [await freePort(), await freePort(), await freePort()];
  const config = readFileSync(path.join(here, 'nginx.conf'), 'utf8')
    .replaceAll('@DIR@', dir)
    .replaceAll('@PORT@', nginx)
    .replaceAll('@DIGEST@', digest);
  writeFileSync(path.join(dir, 'nginx.conf'), config);
  start('nginx', '/usr/sbin/nginx', ['-c', path.join(dir, 'nginx.conf'), '-e', path.join(dir, 'nginx.log')]);
  start('node', 'node', [path.join(here, 'node.mjs'), node, socket, digest, path.join(built, 'node_modules/x.js')]);
  start('go', path.join(built, 'go-peer'), [go, socket, digest]);
  for (const port of [nginx, node, go]) await isThere(port);
  const orders = {
    before: () => asked(['DEL', 'orders']) && asked(['SET', 'stock', STOCK]),
    count: () => +asked(['HLEN', 'orders']),
  };
  return [
    { name: 'nginx + Lua', port: nginx, ...orders },
    { name: 'node', port: node, ...orders },
    { name: 'go', port: go, ...orders },
  ];
}

function answers() {
  try {
    return asked(['PING']) === 'PONG';
  } catch {
    return false;
  }
}

async function startOurs() {
  const data = path.join(dir, 'data');
  const [port, admin] = [await freePort(), await freePort()];
  let sale = 0;

  mkdirSync(data, { mode: 0o700 });
  start('seckilld', path.join(programs, 'seckilld'), [
    ...['--lab', '--log-level', 'warn', '--data', data, '--connections', '2048'],
    ...['--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${admin}`],
  ]);
  await isThere(port);
  await isThere(admin);
  const ctl = ['--admin', `http://127.0.0.1:${admin}`, '--admin-token', path.join(data, 'admin.token')];
  return {
    name: 'seckilld',
    port,
    before: () =>
      execFileSync(path.join(programs, 'seckillctl'), ['sale', 'create', `s${++sale}`, '--stock', STOCK, ...ctl]),
    where: () => `/api/v1/sales/s${sale}/orders`,
    count: () => +asked(['HLEN', `seckill:{s${sale}}:orders`], path.join(data, 'redis.sock')),
  };
}

/* ---- rounds ---- */

let tag = 0;

async function wrk(server, connections, duration, script, words) {
  const { stdout } = await promisify(execFile)('wrk', [
    ...['-t1', `-c${connections}`, `-d${duration}s`, '-s', path.join(here, '../wrk', script)],
    ...[`http://127.0.0.1:${server.port}`, '--', `path=${server.where?.() ?? '/orders'}`, `tag=t${++tag}`],
    ...[`connections=${connections}`, ...words],
  ]);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

async function sell(server, connections, duration) {
  server.before();
  const told = await wrk(server, connections, duration, 'speed.lua', ['method=POST']);
  const failed = told.connect_errors + told.read_errors + told.write_errors + told.timeouts;
  if (told.status_errors + failed > 0 || told.established < 0.99 * connections)
    throw new Error(`${server.name}, ${connections} connections: ${JSON.stringify(told)}`);
  return { perS: (server.count() * 1e6) / told.duration_us, p99Us: told.latency_us.p99 };
}

const shuffled = (list) =>
  list
    .map((one) => [Math.random(), one])
    .sort((a, b) => a[0] - b[0])
    .map(([, one]) => one);
const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];
const shown = (values, digits = 0) =>
  `${median(values).toFixed(digits)} (${sorted(values)[0].toFixed(digits)} .. ${sorted(values).at(-1).toFixed(digits)})`;

function tell(servers, rounds) {
  const rows = [];
  for (const connections of CONNECTIONS) {
    const ours = rounds[`${connections} seckilld`].map(({ perS }) => perS);
    for (const { name } of servers) {
      const perS = rounds[`${connections} ${name}`].map((round) => round.perS);
      const p99 = rounds[`${connections} ${name}`].map((round) => round.p99Us / 1000);
      const ratios = name === 'seckilld' ? null : perS.map((rate, i) => ours[i] / rate);
      const isReached = !ratios || median(ratios) >= MUST[connections];
      rows.push({
        connections,
        name,
        perS,
        p99Ms: p99,
        ratios,
        must: ratios && MUST[connections],
        aim: ratios && AIM[connections],
        isReached,
      });
      console.log(
        `| ${connections} | ${name} | ${shown(perS)} | ${shown(p99, 1)} | ${ratios ? shown(ratios, 2) : ''} |` +
          ` ${ratios ? MUST[connections] : ''} |${isReached ? '' : ' **not reached**'}`,
      );
    }
  }
  return rows;
}

/* ---- an open load ---- */

/* Of what ours can do; each purchase timed from the moment it was meant for. */
const SHARES = [0.1, 0.5, 0.8, 0.95];
const OPEN_CONNECTIONS = 1024;

async function openLoad(ours, capacity) {
  const rows = [];
  for (const share of SHARES) {
    const row = { share, rate: Math.round(share * capacity), refused: 0, void: null, p50: [], p99: [], 'p99.9': [] };
    for (let round = 0; round < +repeat; round++) {
      ours.before();
      const told = await wrk(ours, OPEN_CONNECTIONS, seconds, 'open.lua', [`rate=${row.rate}`]);
      row.refused += told.refused;
      row.void ??= told.void;
      for (const name of ['p50', 'p99', 'p99.9']) row[name].push(told.us[name] / 1000);
    }
    const cells = ['p50', 'p99', 'p99.9'].map((name) => shown(row[name], 1)).join(' | ');
    console.log(`| ${share * 100} % | ${row.rate} | ${cells} |${row.void ? ` **void**: ${row.void}` : ''}`);
    rows.push(row);
  }
  return rows;
}

/* Bars on a scale of logarithms, from 0.1 ms on. */
function picture(rows) {
  const LEFT = 90;
  const x = (ms) => LEFT + Math.max(0, Math.log10(ms / 0.1)) * 130;
  const bars = rows.flatMap((row, i) =>
    ['p50', 'p99', 'p99.9'].map((name, k) => {
      const [ms, y] = [median(row[name]), 30 + i * 66 + k * 18];
      const words = `<text x="${x(ms) + 4}" y="${y + 11}">${name} ${ms.toFixed(1)} ms</text>`;
      return `<rect x="${LEFT}" y="${y}" width="${Math.max(1, x(ms) - LEFT)}" height="14" fill="${['#7aa6c2', '#d08c60', '#b03a2e'][k]}"/>${words}`;
    }),
  );
  const names = rows.map(
    (row, i) =>
      `<text x="8" y="${60 + i * 66}">${row.share * 100} %</text><text x="8" y="${74 + i * 66}">${row.rate}/s</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${40 + rows.length * 66}" font-family="sans-serif" font-size="11">
<text x="8" y="16">How long a purchase takes at a share of the capacity, from the moment it was meant for</text>
${[...names, ...bars].join('\n')}\n</svg>\n`;
}

/* However it ends: by itself, by a server that does, by Ctrl-C. */
process.once('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));

const servers = [await startOurs(), ...(await startPeers())];
const rounds = {};
for (const connections of CONNECTIONS) {
  for (const server of servers) await sell(server, connections, 1);
  for (let round = 0; round < +repeat; round++)
    for (const server of shuffled(servers))
      (rounds[`${connections} ${server.name}`] ??= []).push(await sell(server, connections, seconds));
}
console.log(
  '| connections | who | purchases/s | p99, ms | seckilld ÷ it | must | |\n| --- | --- | --- | --- | --- | --- | --- |',
);
const rows = tell(servers, rounds);
console.log('\n| load | purchases/s | p50, ms | p99, ms | p99.9, ms |\n| --- | --- | --- | --- | --- |');
const open = await openLoad(servers[0], median(rounds[`${OPEN_CONNECTIONS} seckilld`].map(({ perS }) => perS)));
mkdirSync(out, { recursive: true });
writeFileSync(path.join(out, 'peers.json'), `${JSON.stringify({ mode: 'peers', seconds: +seconds, rows, open })}\n`);
writeFileSync(path.join(out, 'open.svg'), picture(open));

process.exit(0);
