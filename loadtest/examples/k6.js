// k6 buys: each of BUYERS asks once, every fifth clicks twice, and whoever got no sure answer asks again with the same key.
//
//   k6 run --quiet --log-format raw --console-output clients.jsonl -e URL=http://HOST/api/v1/sales/ID/orders \
//       [-e BUYERS=1000] [-e VUS=50] k6.js
import http from 'k6/http';
import exec from 'k6/execution';
import { answer, invoke } from './evidence.mjs';

const CLICKS_TWICE = 5;
const TRIES = 10;

export const options = {
  scenarios: {
    sale: { executor: 'shared-iterations', iterations: +__ENV.BUYERS || 1000, vus: +__ENV.VUS || 50, maxDuration: '1h' },
  },
};

export default function () {
  const number = exec.scenario.iterationInTest;
  const buyer = `k6-${number}`;
  buy(buyer, `${buyer}.1`);
  if (number % CLICKS_TWICE === 0) buy(buyer, `${buyer}.2`);
}

function buy(buyer, key) {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const req = `${key}.${attempt}`;
    console.log(invoke({ t: now(), req, buyer, key }));
    const headers = { 'X-User-Id': buyer, 'Idempotency-Key': key, 'X-Request-Id': req };
    const { status, body, headers: told } = http.post(__ENV.URL, null, { headers });
    if (status === 0) continue; // no answer
    const line = answer({ t: now(), req, key, status, body, isReplay: told['Idempotency-Replayed'] === 'true' });
    console.log(line);
    if (!line.includes('"e":"info"')) return;
  }
}

const now = () => `${Date.now()}000000`;
