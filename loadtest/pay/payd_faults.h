/*
 * What goes wrong with a payment. Each choice hangs on the seed and the payment's id alone.
 */
#ifndef LOADTEST_PAYD_FAULTS_H
#define LOADTEST_PAYD_FAULTS_H

#include <stdint.h>

#include "common/flags.h"

/* Value, flag, what its milliseconds are when it does not say (0: it has none), and help. */
#define PAYD_FAULT_LIST(X)                                                                         \
    X(PAYD_DECLINE, "decline", 0, "the card is refused: payment.failed")                           \
    X(PAYD_LATE, "late", 3000, "the shop is told MS later")                                        \
    X(PAYD_DUPLICATE, "duplicate", 0, "... twice")                                                 \
    X(PAYD_LOSE, "lose", 0, "... never; the event goes to LOG.lost, for --replay")                 \
    X(PAYD_REORDER, "reorder", 0, "... of an earlier failure after the success")                   \
    X(PAYD_MISMATCH, "mismatch", 0, "another amount is charged")                                   \
    X(PAYD_BAD_SIGNATURE, "bad-signature", 0, "a forged event comes first")                        \
    X(PAYD_STALE, "stale", 0, "one that is ten minutes old comes first")                           \
    X(PAYD_SLOW, "slow", 300, "the buyer is answered MS later")

typedef enum payd_fault {
#define PAYD_FAULT_VALUE(value, ...) value,
    PAYD_FAULT_LIST(PAYD_FAULT_VALUE)
#undef PAYD_FAULT_VALUE
        PAYD_FAULT_COUNT
} payd_fault;

struct payd_faults {
    uint64_t seed;
    struct {
        double share; /* of the payments */
        long ms;
    } of[PAYD_FAULT_COUNT];
};

/* A fault's flag, whose offset says which it is: "X" or, of those that have milliseconds, "X:MS". */
bool payd_faults_take(const struct flag *flag, struct payd_faults *faults, const char *text,
                      struct failure *failure);

bool payd_faults_hit(const struct payd_faults *faults, payd_fault fault, const char *payment);
/* Its milliseconds, when it hits; else 0. */
long payd_faults_ms(const struct payd_faults *faults, payd_fault fault, const char *payment);

#endif
