/*
 * See ticket.h. Keeps nothing.
 */
#include "ticket.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

enum { NUMBER_DIGITS_MAX = 15, SIGNED_SIZE = SALE_ID_MAX + BUYER_ID_MAX + 32 };

/* None of the three has a colon in it. */
bool ticket_make(const struct token_key *key, const struct ticket *ticket, char out[TICKET_SIZE])
{
    unsigned char mac[TOKEN_MAC_SIZE];
    char text[SIGNED_SIZE];
    int len = snprintf(text, sizeof text, "%s:%s:%" PRId64, ticket->sale_id, ticket->buyer,
                       ticket->number);

    if (!token_mac(key, text, (size_t)len, mac)) return false;
    int at = snprintf(out, TICKET_SIZE, "%" PRId64 ".", ticket->number);
    hex_write(mac, sizeof mac, out + at);
    return true;
}

bool ticket_check(const struct token_key *key, const char *text, struct ticket *ticket)
{
    enum { HEX = 2 * TOKEN_MAC_SIZE };
    size_t digits = strspn(text, "0123456789");
    const unsigned char *hex = (const unsigned char *)text + digits + 1;
    char good[TICKET_SIZE];

    if (digits == 0 || digits > NUMBER_DIGITS_MAX || text[0] == '0' || text[digits] != '.' ||
        strlen(text) != digits + 1 + HEX)
        return false;
    ticket->number = strtoll(text, NULL, 10);
    if (!ticket_make(key, ticket, good)) return false;
    const unsigned char *good_hex = (const unsigned char *)good + digits + 1;
    bool is_good = token_mac_is(hex, good_hex);
    return token_mac_is(hex + TOKEN_MAC_SIZE, good_hex + TOKEN_MAC_SIZE) && is_good;
}
