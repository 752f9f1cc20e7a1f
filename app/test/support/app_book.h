/*
 * Sale "lamp" as its book's tests sell it, and as Redis has it.
 */
#ifndef SECKILL_APP_BOOK_H
#define SECKILL_APP_BOOK_H

#include "app_fixture.h"

enum { APP_BOOK_SIZE = 65536, APP_BOOK_MS = 30000 };

/* Where the book is, of the whole program; to be set. */
extern const char *app_book_url;

/* A file's own PostgreSQL, for all its tests; each begins with lkp_server_empty(postgres). */
#define APP_BOOK_POSTGRES()                                                                        \
    static struct lkp_server *postgres;                                                            \
    BEFORE_ALL()                                                                                   \
    {                                                                                              \
        postgres = lkp_server_start();                                                             \
        app_book_url = postgres->url;                                                              \
    }                                                                                              \
    AFTER_ALL()                                                                                    \
    {                                                                                              \
        lkp_server_stop(postgres);                                                                 \
    }                                                                                              \
    _Static_assert(true, "")

/* "seckillctl WORD... --book URL --redis URL", of this fixture's Redis; the exit status. Its words are in self->out. */
int app_book_ctl(struct app_fixture *self, const char *first, const char *second, const char *id);
/* Whether Redis and the book are the same; of a struct app_fixture. */
bool app_book_agrees(void *self);
/* So many buyers, b000 and so on from this one on; how many were told 201. */
int app_book_buy(struct app_fixture *self, const struct app_process *from, int first, int count);
/* It, paid for later: as many units, and a window of as many ms; 5 CNY each. */
#define APP_BOOK_PAID_LATER(units, ms)                                                             \
    "{\"id\":\"lamp\",\"stock\":" units ",\"payment\":{\"windowMs\":" ms                           \
    ",\"amount\":5,\"currency\":\"CNY\"}}"
/* The file of the provider's key, made now. */
const char *app_book_key(struct app_fixture *self);
/* A buyer at "orders/me": the status. */
long app_book_me(struct app_fixture *self, const char *method, const char *buyer);
/* The provider says by this event that a buyer has paid so much: what came of it; "": no 200. */
const char *app_book_pay(struct app_fixture *self, const char *event, const char *buyer,
                         int amount);
/* All that Redis has of it that is not its epoch, its ledger's end and what nobody but Redis knows. */
void app_book_dump(struct app_fixture *self, char out[APP_BOOK_SIZE]);
/* Redis forgets all; after that it has this again in time, or the test fails. */
void app_book_forget(struct app_fixture *self);
void app_book_comes_back(struct app_fixture *self, const char *wanted);

#endif
