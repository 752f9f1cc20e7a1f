/*
 * A lock library in a process of its own, told what to do over its standard input. These speak
 * this protocol: lockkit_peer.c, RedissonPeer.java, redis_py_peer.py, node_redlock_peer.js,
 * redsync_peer.go; and what takes and gives back of it ShedLockPeer.java, CuratorPeer.java, kazoo_peer.py.
 *
 * request  ID THREAD VERB KIND KEY [NAME=VALUE]...     one line, words without blanks
 * answer   ID RESULT VALUE BEGAN_NS ENDED_NS           one line, whenever the step has ended
 *
 * THREAD   a number: requests of one thread run in their order, and one thread is one owner.
 * VERB     lock [wait=MS (0: try; absent: long)] [lease=MS (absent: renewed)] [renewed=1]
 *          [retries=N (more tries in the library's own way: redsync, node-redlock)], unlock, force,
 *          count, ttl, renew lease=MS, version; contend ms=N [wait=MS] enter=SHA1 leave=SHA1 (takes and gives
 *          back for so long, and runs these scripts while it holds: their numbers are summed up;
 *          wait: Redisson asks again after so long);
 *          bench ms=N (takes and gives back as often as it goes: the value); hold, drop n=N
 *          (lock, unlock of KEY:0, KEY:1...);
 *          of semaphores and latches also set n=N, add n=N, drain, down, await, delete
 * KIND     reentrant, non-reentrant, spin, fenced, fair, read, write, multi, semaphore, permits,
 *          latch, mutex, redlock; "-" for version
 *          semaphores, latches are not for redis-py, node-redlock and redsync; bench not for node-redlock
 * KEY      of multi: keys of reentrant locks, with commas; Redisson takes them in reverse order
 * RESULT   ok, busy, not-owner, invalid... (the names of lk_status); error: VALUE says what
 * VALUE    a fence, a permit's id, a number; of a redlock how many ms it is good for; "-" for none
 * ..._NS   CLOCK_MONOTONIC of this host, so that times of several peers compare
 *
 * A peer ends with its standard input, and is killed when the test program ends.
 */
#ifndef LOCKKIT_INTEROP_PEER_H
#define LOCKKIT_INTEROP_PEER_H

#include "bench/player.h"

struct peer;

/* Start a program: argv ends with NULL; its standard error is appended to the file `log`. Fails the
   test when it does not answer "version". */
struct peer *peer_start(const char *const *argv, const char *log);
/* SIGKILL, and wait for its end. NULL is fine. After peer_kill() stop is still due. */
void peer_stop(struct peer *peer);
void peer_kill(struct peer *peer);
pid_t peer_pid(const struct peer *peer);
/* "Redisson-4.7.0" */
const char *peer_version(const struct peer *peer);
/* Of it, the name before the number. */
size_t peer_name_len(const struct peer *peer);

/* From now on its threads are others: those of a check that failed may be waiting for ever. */
void peer_change_threads(struct peer *peer);

/* Send a request, given without its ID, which is the result. */
__attribute__((format(printf, 2, 3))) unsigned peer_send(struct peer *peer, const char *format,
                                                         ...);
/* Whether the answer has come. It is still to be awaited. */
bool peer_has_answered(struct peer *peer, unsigned id);
/* Take the answer; fails the test when there is none in time, or its result is another one than
   that, if not NULL. */
struct answer peer_await(struct peer *peer, unsigned id, const char *result, int64_t within_ms);
/* Send, and await that result within ten seconds. */
__attribute__((format(printf, 3, 4))) struct answer peer_must(struct peer *peer, const char *result,
                                                              const char *format, ...);

#endif
