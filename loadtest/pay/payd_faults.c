/*
 * Pure.
 */
#include "payd_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "common/fnv.h"

enum { CHANCES = 1000000, LONGEST_MS = 3600000 };

static const long usual_ms[PAYD_FAULT_COUNT] = {
#define PAYD_FAULT_MS(value, flag, ms, help) [value] = (ms),
    PAYD_FAULT_LIST(PAYD_FAULT_MS)
#undef PAYD_FAULT_MS
};

bool payd_faults_take(const struct flag *flag, struct payd_faults *faults, const char *text,
                      struct failure *failure)
{
    const size_t fault = flag->offset;
    char *end = NULL;
    double share = strtod(text, &end);
    long ms = usual_ms[fault];

    bool is_good = end != text && share >= 0 && share <= 1;
    if (is_good && *end == ':' && usual_ms[fault]) {
        errno = 0;
        ms = strtol(end + 1, &end, 10);
        is_good = !errno && ms > 0 && ms <= LONGEST_MS;
    }
    if (!is_good || *end)
        return failure_set(failure, "--%s: \"%s\" is not a share from 0 to 1%s", flag->name, text,
                           usual_ms[fault] ? ", or SHARE:MS" : "");
    faults->of[fault].share = share;
    faults->of[fault].ms = ms;
    return true;
}

bool payd_faults_hit(const struct payd_faults *faults, payd_fault fault, const char *payment)
{
    uint64_t hash = fnv_add(FNV_START + (uint64_t)fault, payment, strlen(payment));
    struct random chance = random_stream(faults->seed, hash);
    return random_between(&chance, 0, CHANCES - 1) < (int64_t)(faults->of[fault].share * CHANCES);
}

long payd_faults_ms(const struct payd_faults *faults, payd_fault fault, const char *payment)
{
    return payd_faults_hit(faults, fault, payment) ? faults->of[fault].ms : 0;
}
