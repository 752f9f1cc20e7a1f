/*
 * Buyers of a sale that is paid for later, once wrk has bought or was told sold-out: who has an order
 * pays at the provider, cancels, or leaves; who has none comes back for units that come back, when the
 * service says so. Threads of our own, with a ledger of their own.
 */
#ifndef LOADTEST_PAYERS_H
#define LOADTEST_PAYERS_H

#include "drive.h"

struct payers; /* opaque; one thread but for its own */

/* `ledger` gets what they ask and are told. All borrowed, until payers_stop(). */
struct payers *payers_start(const struct drive_target *target, const char *sale, const char *ledger,
                            struct failure *failure);

/* A line of wrk's ledgers. `arg` is a struct payers. */
void payers_on_line(void *arg, const char *line);

/* One look at the sale: is every unit paid for, or can nobody pay any more? */
bool payers_are_done(struct payers *payers);
/* Units that were paid at the last look. */
int64_t payers_paid(const struct payers *payers);

/* false: their ledger could not be written, or (`failure` says so) not all was paid though somebody was
 * left who could. Fine with NULL. */
bool payers_stop(struct payers *payers, struct failure *failure);

#endif
