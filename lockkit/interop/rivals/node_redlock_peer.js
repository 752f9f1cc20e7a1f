/*
 * node-redlock, over ioredis, behind the line protocol of peer.h, so that it can contend with
 * lockkit: `node_redlock_peer.js redlock|redlock-4 URL [URL...]`. Kind "mutex" is a lock on the first
 * server alone, "redlock" one over all the others.
 *
 * A thread number of the protocol is a chain of promises with its own locks. The program ends with
 * its standard input, at once: what it holds is left to the leases.
 */
"use strict";
const path = require("path");
const readline = require("readline");
const Redis = require("ioredis");
const { default: Redlock, ExecutionError, ResourceLockedError } = require("redlock");
const Redlock4 = require("redlock-4");

const POLL_MS = 10; // node-redlock has no messages: a waiter asks again and again
const PAUSE_MS = 2; // outside, so that others get their turn
const LONG_MS = 600000;
const VOTE_MS = 500; // a server that says nothing for so long votes against

const [name, ...urls] = process.argv.slice(2);
const clients = urls.map(connect);
const referee = clients[0];
// The own retries of 5 keep what an attempt has won of a minority; so we ask anew, from the start.
const once = { retryCount: 0 };

const libraries = {
  redlock: {
    Redlock,
    acquire: (redlock, key, leaseMs, options) => redlock.acquire([key], leaseMs, options),
    isRefusal: (error) => error instanceof ExecutionError,
    isHeldByOthers,
  },
  "redlock-4": {
    Redlock: Redlock4,
    acquire: (redlock, key, leaseMs, options) => redlock.acquireWithOptions(key, leaseMs, options),
    isRefusal: (error) => error instanceof Redlock4.LockError,
    isHeldByOthers: () => true, // it does not tell
  },
};
const library = libraries[name];
const redlocks = {
  mutex: new library.Redlock([referee], once),
  redlock: clients.length > 1 ? new library.Redlock(clients.slice(1), once) : null,
};

function connect(url) {
  const client = new Redis(url, {
    enableOfflineQueue: false, // else a dead server gets today's acquires when it is back
    maxRetriesPerRequest: 0,
    commandTimeout: VOTE_MS,
    retryStrategy: () => 50,
  });

  client.on("error", () => {}); // it tries to connect again
  return client;
}

const isSettled = (client) =>
  new Promise((resolve) => client.once("ready", resolve).once("close", resolve));

const nowNs = () => process.hrtime.bigint();
const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/* ---- locks --------------------------------------------------------------------------------- */

/** Whether others hold it on a server at least; else the servers did not let us. */
async function isHeldByOthers(error) {
  const attempts = await Promise.all(error.attempts);

  return attempts.every((votes) =>
    [...votes.votesAgainst.values()].some((reason) => reason instanceof ResourceLockedError));
}

async function resultOf(error, taken) {
  if (!library.isRefusal(error)) throw error;
  return { result: (await library.isHeldByOthers(error)) ? taken : "unreachable" };
}

async function acquire(redlock, key, options) {
  const until = Date.now() + Number(options.wait ?? LONG_MS);
  const retries = { retryCount: Number(options.retries ?? 0) };

  for (;;) {
    try {
      return await library.acquire(redlock, key, Number(options.lease), retries);
    } catch (error) {
      if (!library.isRefusal(error) || Date.now() >= until) throw error;
    }
    await nap(POLL_MS * (0.5 + Math.random()));
  }
}

/** A lock that the using() of 5 prolongs, until unlock() is called. */
function acquireRenewed(redlock, key, options) {
  return new Promise((resolve, reject) => {
    const ended = redlock.using([key], Number(options.lease), () =>
      new Promise((end) => {
        resolve({ expiration: 0, unlock: () => (end(), ended) });
      }));
    ended.catch(reject);
  });
}

class Owner {
  chain = Promise.resolve();
  held = new Map();

  async lock(kind, key, options) {
    const take = options.renewed ? acquireRenewed : acquire;

    try {
      const lock = await take(redlocks[kind], key, options);
      this.held.set(kind + key, lock);
      return { result: "ok", value: lock.expiration - Date.now() };
    } catch (error) {
      return resultOf(error, "busy");
    }
  }

  async unlock(kind, key) {
    const lock = this.held.get(kind + key);

    if (!lock) return { result: "not-owner" };
    try {
      await (lock.unlock ? lock.unlock() : lock.release());
      return { result: "ok" };
    } catch (error) {
      return resultOf(error, "not-owner");
    }
  }

  async renew(kind, key, options) {
    try {
      const lock = await this.held.get(kind + key).extend(Number(options.lease));
      this.held.set(kind + key, lock);
      return { result: "ok", value: lock.expiration - Date.now() };
    } catch (error) {
      return resultOf(error, "lost");
    }
  }

  async contend(kind, key, options) {
    const until = Date.now() + Number(options.ms);
    let faults = 0;

    do {
      const taken = await this.lock(kind, key, { wait: 30000, lease: 30000 });
      if (taken.result !== "ok") return taken;
      for (const script of [options.enter, options.leave])
        faults += await referee.evalsha(script, 1, key, kind, "node-redlock");
      const given = await this.unlock(kind, key);
      if (given.result !== "ok") return given;
      await nap(PAUSE_MS);
    } while (Date.now() < until);
    return { result: "ok", value: faults };
  }

  async version() {
    const root = path.join(process.env.NODE_PATH, name);
    const { version } = require(path.resolve(root, "package.json"));

    return { result: "ok", value: version.replace(/^v?/, "node-redlock-") };
  }
}

/* ---- the protocol -------------------------------------------------------------------------- */

async function serve(owner, line) {
  const [id, , verb, kind, key, ...words] = line.split(" ");
  const options = Object.fromEntries(words.map((word) => word.split("=", 2)));
  const began = nowNs();
  let answer;

  try {
    answer = await owner[verb](kind, key, options);
  } catch (fault) {
    console.error(line, fault);
    answer = { result: "error", value: String(fault).replace(/\s+/g, "_") };
  }
  process.stdout.write(`${id} ${answer.result} ${answer.value ?? "-"} ${began} ${nowNs()}\n`);
}

async function main() {
  const owners = new Map();

  await Promise.all(clients.map(isSettled));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const thread = line.split(" ")[1];
    if (!owners.has(thread)) owners.set(thread, new Owner());
    const owner = owners.get(thread);
    owner.chain = owner.chain.then(() => serve(owner, line));
  }
  process.exit(0);
}

main();
