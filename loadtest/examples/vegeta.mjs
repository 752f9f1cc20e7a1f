// Results of vegeta become lines of the clients' ledger.
//
//   node vegeta.mjs targets URL BUYERS | vegeta attack -format json -rate 500 -duration 2s | vegeta encode |
//       node vegeta.mjs >clients.jsonl
//
// A result does not tell what the request's headers were, so buyer and key stand in the fragment of the target's URL
// too (#BUYER/KEY), which is sent to nobody. Bodies are needed: not with -max-body 0.
import { createInterface } from 'node:readline';
import { answer, invoke } from './evidence.mjs';

function targets(url, buyers) {
  for (let n = 0; n < buyers; n++) {
    const header = { 'X-User-Id': [`v-${n}`], 'Idempotency-Key': [`v-${n}.1`] };
    console.log(JSON.stringify({ method: 'POST', url: `${url}#v-${n}/v-${n}.1`, header }));
  }
}

function nanoseconds(stamp) {
  const [, seconds, fraction = '', zone] = /^([^.Z+]*T[^.Z+-]*)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(stamp);
  return BigInt(Date.parse(seconds + zone)) * 1000000n + BigInt(fraction.padEnd(9, '0'));
}

function lines(result) {
  const [buyer, key] = decodeURIComponent(new URL(result.url).hash.slice(1)).split('/');
  const [req, t] = [String(result.seq), nanoseconds(result.timestamp)];
  if (!key) throw new Error('"url" has no #BUYER/KEY');
  if (result.code === 201 && !result.body) throw new Error('"body" is missing: which order was it?');
  const isReplay = result.headers?.['Idempotency-Replayed']?.[0] === 'true';
  const told = { t: t + BigInt(result.latency), req, key, status: result.code, isReplay };
  console.log(invoke({ t, req, buyer, key }));
  if (result.code) console.log(answer({ ...told, body: Buffer.from(result.body ?? '', 'base64').toString() }));
}

let number = 0;
if (process.argv[2] === 'targets') targets(process.argv[3], +process.argv[4]);
else
  for await (const line of createInterface({ input: process.stdin })) {
    number++;
    try {
      lines(JSON.parse(line));
    } catch (error) {
      console.error(`vegeta.mjs: line ${number}: ${error.message}`);
      process.exit(2);
    }
  }
