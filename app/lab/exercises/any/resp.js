// What a program of yours needs to speak to Redis: nothing but sockets. Use a client library instead if you like.
'use strict';
const net = require('node:net');

const { LAB_STOCK_KEY: STOCK, LAB_ORDERS_KEY: ORDERS, LAB_LOCK_KEY: LOCK } = process.env;
const { LAB_BUYER: BUYER, LAB_ORDER: ORDER, LAB_TOKEN: TOKEN, LAB_LEASE_MS: LEASE_MS } = process.env;
const { LAB_ROLE: ROLE, LAB_OUTBOX_KEY: OUTBOX } = process.env; // where an exercise has them
const SERVERS = [1, 2, 3].map((number) => process.env[`LAB_REDIS_URL_${number}`]);
const open = new Map();

/** A connection: its replies answer, one after the other, who waits for them. */
function connect(url) {
  const { hostname, port } = new URL(url);
  const self = { socket: net.connect({ host: hostname, port, noDelay: true }), waiting: [], bytes: Buffer.alloc(0) };
  self.socket.on('data', (more) => {
    self.bytes = Buffer.concat([self.bytes, more]);
    for (let got; self.waiting.length > 0 && (got = read(self.bytes, 0)); self.bytes = self.bytes.subarray(got.end)) {
      const { resolve, reject } = self.waiting.shift();
      got.value instanceof Error ? reject(got.value) : resolve(got.value);
    }
  });
  self.socket.on('error', () => {});
  self.socket.on('close', () => self.waiting.splice(0).forEach(({ reject }) => reject(new Error('no answer'))));
  return self;
}

/** The reply that begins there, and where it ends; undefined: not whole yet. */
function read(bytes, at) {
  const line = bytes.indexOf('\r\n', at);
  if (line < 0) return undefined;
  const rest = bytes.toString('utf8', at + 1, line);
  const kind = String.fromCharCode(bytes[at]);
  let end = line + 2;
  if (kind === '-') return { value: new Error(rest), end };
  if (kind === ':') return { value: Number(rest), end };
  if (kind === '+' || rest === '-1') return { value: kind === '+' ? rest : null, end };
  if (kind === '$') {
    const value = bytes.toString('utf8', end, (end += Number(rest)));
    return end + 2 > bytes.length ? undefined : { value, end: end + 2 };
  }
  const value = [];
  for (let part; value.length < Number(rest); value.push(part.value), end = part.end)
    if (!(part = read(bytes, end))) return undefined;
  return { value, end };
}

/** Likewise of a server of its own, by its URL. */
function redisAt(url, ...words) {
  const parts = words.map(String).map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  if (!open.has(url)) open.set(url, connect(url));
  const { socket, waiting } = open.get(url);
  return new Promise((resolve, reject) => {
    if (socket.destroyed) return reject(new Error('no answer'));
    waiting.push({ resolve, reject });
    socket.write(`*${parts.length}\r\n${parts.join('')}`);
  });
}

/** One command; a promise of its answer: text, number, list or null. An error, or no answer, is an exception. */
function redis(...words) {
  return redisAt(process.env.LAB_REDIS_URL, ...words);
}

/** Say what work() comes to, and end. */
async function tell(work) {
  const result = await work().catch(() => 'unknown');
  console.log(JSON.stringify({ result }));
  for (const { socket } of open.values()) socket.destroy();
}

module.exports = { redis, redisAt, tell, STOCK, ORDERS, LOCK, BUYER, ORDER, TOKEN, LEASE_MS, ROLE, OUTBOX, SERVERS };
