/*
 * Names and states of a sale. Any thread.
 */
#include "sale.h"

#include <stdlib.h>
#include <string.h>

#include "purchase.h"

static const char lower_digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* 1 to max characters, each one of the two alphabets, the upper-case letters, or of extra. */
static bool is_word(const char *text, size_t max, bool with_upper, const char *extra)
{
    size_t len = 0;

    for (; len <= max && text[len] != '\0'; len++) {
        bool is_ok = strchr(lower_digits, text[len]) || strchr(extra, text[len]) ||
                     (with_upper && strchr(upper, text[len]));

        if (!is_ok) return false;
    }
    return len >= 1 && len <= max;
}

bool sale_id_is_valid(const char *id)
{
    return is_word(id, SALE_ID_MAX, false, "-");
}

bool sale_buyer_id_is_valid(const char *buyer)
{
    return is_word(buyer, BUYER_ID_MAX, true, "_-");
}

bool sale_key_is_valid(const char *key)
{
    return is_word(key, IDEMPOTENCY_KEY_MAX, true, "_.-");
}

void sale_add_lot(struct sale *sale, struct sale_lot lot)
{
    size_t place = 0;

    while (place < SALE_LOTS_MAX - 1 && sale->lots[place].sellable_ms > sale->now_ms)
        place++;
    if (sale->lots[place].sellable_ms > sale->now_ms) { /* they are more than there can be */
        lot.units += sale->lots[place].units;
        if (lot.sellable_ms < sale->lots[place].sellable_ms)
            lot.sellable_ms = sale->lots[place].sellable_ms;
    }
    sale->lots[place] = lot;
}

void sale_read_lots(struct sale *sale, const char *text)
{
    char *end = NULL;

    memset(sale->lots, 0, sizeof sale->lots);
    for (;; text = end) {
        struct sale_lot lot = {.sellable_ms = strtoll(text, &end, 10)};

        if (end == text || *end != ':') return;
        text = end + 1;
        lot.units = strtoll(text, &end, 10);
        if (end == text) return;
        sale_add_lot(sale, lot);
    }
}

void sale_set_stock(struct sale *sale, int64_t stock)
{
    sale->cooling = 0;
    sale->sellable_ms = 0;
    for (size_t i = 0; i < SALE_LOTS_MAX; i++) {
        const struct sale_lot *lot = &sale->lots[i];

        if (lot->sellable_ms <= sale->now_ms || lot->sellable_ms > sale->now_ms + SALE_COOL_MAX_MS)
            continue;
        sale->cooling += lot->units;
        if (lot->sellable_ms > sale->sellable_ms) sale->sellable_ms = lot->sellable_ms;
    }
    sale->left = stock - sale->cooling;
}

sale_state sale_state_of(const struct sale *sale)
{
    if (strcmp(sale->stored_state, "ended") == 0) return SALE_ENDED;
    if (sale->ends_ms > 0 && sale->now_ms >= sale->ends_ms) return SALE_ENDED;
    if (strcmp(sale->stored_state, "paused") == 0) return SALE_PAUSED;
    if (sale->now_ms < sale->starts_ms) return SALE_UPCOMING;
    return sale->left > 0 ? SALE_ACTIVE : SALE_SOLD_OUT;
}

const char *sale_state_name(sale_state state)
{
    static const char *const names[] = {SALE_STATE_LIST(LIST_NAME)};

    return (unsigned)state < SALE_STATE_COUNT ? names[state] : "?";
}

const char *sale_outcome_name(enum outcome which)
{
    static const char *const names[] = { OUTCOME_LIST(LIST_NAME) };

    return (unsigned)which < OUTCOME_COUNT ? names[which] : "?";
}
