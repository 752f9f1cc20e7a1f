/*
 * A charge: what is written down about it, and which events about it go out when.
 */
#ifndef LOADTEST_PAYD_CHARGE_H
#define LOADTEST_PAYD_CHARGE_H

#include <stdint.h>

#include "payd_faults.h"
#include "payd_post.h"

enum { PAYD_WORD_MAX = 65 };

/* What the shop's link asks for. */
struct payd_wish {
    char sale[PAYD_WORD_MAX], order[PAYD_WORD_MAX], buyer[PAYD_WORD_MAX], currency[8];
    long long amount;
    bool is_refused; /* by the buyer: as a declined card */
};

struct payd_charge {
    char payment[PAYD_WORD_MAX + 16]; /* "pay-ORDER-N": the N-th try for that order */
    long long amount;
    bool is_declined;
    long slow_ms; /* the buyer is told after that */
};

struct payd_charges; /* opaque; any thread */

/* All borrowed. `log` gets a line {"e":"charge",...} of each that was accepted, before it is answered. */
struct payd_charges *payd_charges_new(const struct payd_faults *faults, struct payd_post *post,
                                      FILE *log);
void payd_charges_free(struct payd_charges *charges);

/* false: out of memory, nothing was charged. */
bool payd_charges_take(struct payd_charges *charges, const struct payd_wish *wish,
                       struct payd_charge *out_charge);

#endif
