/*
 * A ticket of a waiting room: "NUMBER.HEX", HEX an HMAC-SHA-256 over the sale, the buyer and the number, under
 * the room's key. It is its buyer's alone, and cannot be made by anybody else.
 */
#ifndef SECKILL_TICKET_H
#define SECKILL_TICKET_H

#include "auth/token.h"

enum { TICKET_SIZE = 20 + 1 + 2 * TOKEN_MAC_SIZE + 1 };

struct ticket {
    const char *sale_id; /* valid ones, borrowed */
    const char *buyer;
    int64_t number; /* from 1 */
};

/* False: out of memory. */
bool ticket_make(const struct token_key *key, const struct ticket *ticket, char out[TICKET_SIZE]);
/* Whether a text is the ticket of that sale and buyer; its number then. Any text up to a NUL; any thread. */
bool ticket_check(const struct token_key *key, const char *text, struct ticket *ticket);

#endif
