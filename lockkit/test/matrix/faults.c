/*
 * See faults.h. What is done to servers is done by the main thread.
 */
#include "cell.h"

enum { HASTY_MS = 300, QUICK_MS = 1000 /* so that a server is away for less than a session */ };

/* ---- the table -------------------------------------------------------------------------------------------- */

enum {
    OK = 1U << LK_OK,
    BUSY = 1U << LK_BUSY,
    LOST = 1U << LK_LOST,
    AWAY = 1U << LK_UNREACHABLE,
    OPEN = OK | AWAY | 1U << LK_UNKNOWN,
    ENDED = OPEN | LOST | 1U << LK_NOT_OWNER,
    REFUSED = 1U << LK_SERVER,
    INVALID = 1U << LK_INVALID,
};

/* acquire, wait, renew, renew by hand, release, guarded eval */
#define EACH(status)                                                                               \
    {                                                                                              \
        status, status, status, status, status, status                                             \
    }
#define UNTIL_OVER                                                                                 \
    {                                                                                              \
        OPEN, OK, OK, OPEN, OPEN, OPEN                                                             \
    }
#define OF_HANDLES                                                                                 \
    {                                                                                              \
        INVALID, INVALID, 0, INVALID, INVALID, INVALID                                             \
    }

const struct fault faults[FAULTS] = {
    {"before send", AT_CALL, LKS_REFUSED, .may = UNTIL_OVER},
    {"after send", AT_CALL, LKS_LATE, .may = UNTIL_OVER},
    {"reply lost", AT_CALL, LKS_REPLY_LOST, .may = UNTIL_OVER},
    {"reply lost, of a new client", AT_CALL, LKS_REPLY_LOST, .is_cold = true, .may = UNTIL_OVER},
    {"stalled", AT_SERVER, .deed = PAUSE, .command_ms = HASTY_MS, .may = UNTIL_OVER},
    {"stalled, scripts forgotten", AT_SERVER, .deed = PAUSE_FORGETFUL, .command_ms = HASTY_MS,
     .may = UNTIL_OVER},
    {"restarted with data", AT_SERVER, .deed = RESTART, .is_unsettled = true, .may = UNTIL_OVER},
    {"away for longer than a wait", AT_SERVER, .deed = RESTART, .is_unsettled = true,
     .command_ms = QUICK_MS, .wait_ms = 250, .may = {OPEN, OPEN & ~OK, OK, OPEN, OPEN, OPEN}},
    {"restarted empty", AT_SERVER, .deed = WIPE, .is_unsettled = true, .forgets = true,
     .may = {OPEN, OK, LOST, ENDED, ENDED, ENDED}},
    {"READONLY, another takes over", AT_SERVER, .deed = REPLACE, .is_unsettled = true,
     .may = UNTIL_OVER},
    {"CLUSTERDOWN", AT_SERVER, .deed = LOSE_A_SLOT, .is_unsettled = true, .command_ms = HASTY_MS,
     .may = UNTIL_OVER},
    {"NOSCRIPT", AT_SERVER, .deed = FORGET_SCRIPTS, .may = EACH(OK)},
    {"OOM", AT_SERVER, .deed = FILL, .may = {OK | AWAY, OK, OK, OK, OK, AWAY}},
    {"BUSY", AT_SERVER, .deed = OCCUPY, .may = {AWAY, OK, OK, AWAY, AWAY, AWAY}},
    {"MISCONF", AT_SERVER, .deed = FAIL_SAVING, .may = {AWAY, OK, OK, AWAY, AWAY, AWAY}},
    {"MASTERDOWN", AT_SERVER, .deed = ORPHAN, .is_unsettled = true,
     .may = {AWAY, OK, OK, AWAY, AWAY, AWAY}},
    {"NOREPLICAS", AT_SERVER, .deed = LACK_REPLICAS, .may = {AWAY, OK, OK, AWAY, AWAY, AWAY}},
    {"CLIENT PAUSE", AT_SERVER, .deed = SUSPEND, .command_ms = HASTY_MS, .may = UNTIL_OVER},
    {"LOADING", AT_SERVER, .deed = LOAD, .is_cold = true, .may = UNTIL_OVER},
    {"maxclients", AT_SERVER, .deed = CROWD, .may = UNTIL_OVER},
    {"connections cut", AT_SERVER, .deed = CUT, .may = UNTIL_OVER},
    {"a process of it killed", AT_SERVER, .deed = BREAK, .may = UNTIL_OVER},
    {"locked by others' hands", AT_SERVER, .deed = LOCK, .command_ms = HASTY_MS,
     .may = {OPEN | BUSY, OK, OK, OPEN | BUSY, OPEN | BUSY, OPEN | BUSY}},
    {"ACL: no channels", AT_SERVER, .deed = FORBID_CHANNELS, .may = EACH(OK)},
    {"ACL: no scripts, no writes", AT_SERVER, .deed = FORBID_STEPS,
     .may = {OK | REFUSED, OK | REFUSED, OK, OK | REFUSED, OK | REFUSED, REFUSED}},
    {"connection dirty", AT_SERVER, .deed = SOIL, .may = EACH(OK)},
    {"fork: in the child", IN_CHILD, .may = OF_HANDLES},
    {"another thread inside", BESIDE, .deed = PAUSE, .may = OF_HANDLES},
};

bool faults_has(const struct fault *fault, const struct world *world)
{
    return fault->deed == NOTHING || world->ops->deeds[fault->deed].begin;
}

/* Last begun, first ended: Sentinels and clusters wait for nobody. */
void faults_begin(const struct fault *fault)
{
    for (size_t i = worlds_count; i-- > 0;)
        if (worlds[i].ops->deeds[fault->deed].begin)
            worlds[i].ops->deeds[fault->deed].begin(&worlds[i]);
    if (fault->place == AT_CALL) lks_fault_arm_sent(fault->call);
}

void faults_end(const struct fault *fault)
{
    for (size_t i = 0; i < worlds_count; i++)
        if (worlds[i].ops->deeds[fault->deed].end)
            worlds[i].ops->deeds[fault->deed].end(&worlds[i]);
    lks_fault_arm_sent(LKS_NO_FAULT);
}
