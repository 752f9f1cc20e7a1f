/*
 * The last instance is the one that suffers: the first is asked by the operator. One thread, with the runner's loop.
 */
#include "inflict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "redis_proxy.h"
#include "service.h"

enum { STILL_MS = 400 /* nobody was answered for so long: the holder sleeps */ };

/*
 * With a pause in it, a kill or a stop waits until nobody is served any more: the lock's holder sleeps. Where nobody
 * holds the others up (no lock, one round trip), and for the other faults, it comes amid the sale.
 */
static bool is_due(const struct inflict *inflict, const struct monitor *monitor)
{
    const struct options *options = inflict->target->options;
    const struct fault *fault = options->fault;
    int64_t now_ms = clock_ms();
    int64_t silent_ms = now_ms - monitor->changed_ms;

    if (inflict->count > 0 && now_ms - inflict->since_ms < STILL_MS) return false;
    if (options->faults.when_ms) return now_ms - monitor->started_ms >= options->faults.when_ms;
    if (!fault->times) return true;
    if (monitor->replies == 0 || monitor->left <= 0) return false;
    if (fault->last[0] && silent_ms >= STILL_MS) return true;
    return monitor->left * (fault->last[0] ? 2 : 10) <= monitor->initial * (fault->last[0] ? 1 : 9);
}

static bool tell_last(struct service *service, const char *verb, struct failure *failure)
{
    char words[32];

    (void)snprintf(words, sizeof words, "link%d:%s", service->count, verb);
    return redis_proxy_tell(service, words, failure);
}

static void begin(struct inflict *inflict, struct failure *trouble)
{
    struct service *service = inflict->target->service;

    switch (inflict->target->options->fault->kind) {
    case FAULT_PAUSE: /* its flag does it */
    case FAULT_COUNT:
        break;
    case FAULT_KILL:
        service_kill_last(service);
        break;
    case FAULT_STOP:
        process_signal(&service->instances[service->count - 1].process, SIGSTOP);
        break;
    case FAULT_CUT:
        (void)(tell_last(service, "refuse", trouble) && tell_last(service, "cut", trouble));
        break;
    case FAULT_SLOW:
        (void)redis_proxy_tell(service, "delay 1", trouble);
        break;
    }
}

static void end(struct inflict *inflict, struct failure *trouble)
{
    const struct drive_target *target = inflict->target;
    struct service *service = target->service;

    inflict->is_on = false;
    inflict->since_ms = clock_ms();
    switch (target->options->fault->kind) {
    case FAULT_PAUSE:
    case FAULT_COUNT:
        break;
    case FAULT_KILL:
        (void)service_bring_back(service, target->options, target->run_dir, trouble);
        break;
    case FAULT_STOP:
        process_signal(&service->instances[service->count - 1].process, SIGCONT);
        break;
    case FAULT_CUT:
    case FAULT_SLOW:
        (void)redis_proxy_tell(service, "pass", trouble);
        break;
    }
}

static void note(struct inflict *inflict, const struct monitor *monitor)
{
    const struct service *service = inflict->target->service;
    const struct fault *fault = inflict->target->options->fault;

    if (inflict->count++ > 0) return;
    (void)snprintf(inflict->words, sizeof inflict->words,
                   "%s (%s), %s, %.1f s after the first buyer, %" PRId64 " of %" PRId64 " sold",
                   fault->name, fault->what,
                   fault->times ? service->instances[service->count - 1].name : "all instances",
                   (double)(clock_ms() - monitor->started_ms) / 1000,
                   monitor->initial - monitor->left, monitor->initial);
}

void inflict_tick(struct inflict *inflict, const struct monitor *monitor, struct failure *trouble)
{
    const struct fault *fault = inflict->target->options->fault;

    if (!fault) return;
    if (inflict->is_on) {
        if (fault->lasts_ms && clock_ms() - inflict->since_ms >= fault->lasts_ms)
            end(inflict, trouble);
        return;
    }
    if ((fault->times && inflict->count >= fault->times) || !is_due(inflict, monitor)) return;
    begin(inflict, trouble);
    note(inflict, monitor);
    inflict->is_on = true;
    inflict->since_ms = clock_ms();
}

void inflict_end(struct inflict *inflict, struct failure *trouble)
{
    if (inflict->is_on) end(inflict, trouble);
}
