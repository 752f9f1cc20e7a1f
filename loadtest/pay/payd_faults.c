/*
 * Pure.
 */
#include "payd_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/chance.h"
#include "common/fnv.h"

enum { CHANCES = 1000000, LONGEST_MS = 3600000 };

const struct payd_fault_words payd_faults_words[PAYD_FAULT_COUNT] = {
#define PAYD_FAULT_WORDS(value, flag, ms, help) [value] = {flag, help, ms},
    PAYD_FAULT_LIST(PAYD_FAULT_WORDS)
#undef PAYD_FAULT_WORDS
};

bool payd_faults_read(struct payd_faults *faults, payd_fault fault, const char *text,
                      struct failure *failure)
{
    const struct payd_fault_words *words = &payd_faults_words[fault];
    char *end = NULL;
    double share = strtod(text, &end);
    long ms = words->ms;

    bool is_good = end != text && share >= 0 && share <= 1;
    if (is_good && *end == ':' && words->ms) {
        errno = 0;
        ms = strtol(end + 1, &end, 10);
        is_good = !errno && ms > 0 && ms <= LONGEST_MS;
    }
    if (!is_good || *end)
        return failure_set(failure, "--%s: \"%s\" is not a share from 0 to 1%s", words->flag, text,
                           words->ms ? ", or SHARE:MS" : "");
    faults->of[fault].share = share;
    faults->of[fault].ms = ms;
    return true;
}

bool payd_faults_hit(const struct payd_faults *faults, payd_fault fault, const char *payment)
{
    uint64_t hash = fnv_add(FNV_START + (uint64_t)fault, payment, strlen(payment));
    struct chance chance = chance_stream(faults->seed, hash);
    return chance_between(&chance, 0, CHANCES - 1) < (int64_t)(faults->of[fault].share * CHANCES);
}

long payd_faults_ms(const struct payd_faults *faults, payd_fault fault, const char *payment)
{
    return payd_faults_hit(faults, fault, payment) ? faults->of[fault].ms : 0;
}
