/*
 * The waiting rooms of sales, as one instance sees them: who asks for a place gets a number and a ticket, so
 * many places a second are let in, and a purchase is judged by its ticket alone, without asking Redis.
 *
 * Whoever has waited long enough is let in, and may take his time: a ticket stays good. Nobody holds a seat that another
 * one waits for, so those who went away hold nobody up. When nobody asks, no more than one second's places
 * are let in ahead. What all instances know is in Redis (store/store_waiting.h): they and it may restart.
 *
 * Where the draw is used, numbers given before the sale starts take part in it, and their places are known from
 * the start on (draw.h); whoever comes later queues behind.
 */
#ifndef SECKILL_WAITING_ROOM_H
#define SECKILL_WAITING_ROOM_H

#include "store/store_waiting.h"
#include "ticket.h"

struct waiting_rooms; /* opaque; safe for any number of threads */

/* Start a thread that lets people in. The store is borrowed. on_failure is called for each step that failed, by any
   thread; must not block. NULL: no memory. */
struct waiting_rooms *waiting_rooms_new(struct store *store, void (*on_failure)(void *arg),
                                        void *arg);
void waiting_rooms_free(struct waiting_rooms *self);

/* X(value, name in answers) */
#define WAITING_TURN_LIST(X)                                                                       \
    X(WAITING_NO_TICKET, "no-ticket") /* or one that is not good here */                           \
    X(WAITING_FOR_DRAW, "before-draw")                                                             \
    X(WAITING_IN_LINE, "waiting")                                                                  \
    X(WAITING_LET_IN, "admitted")                                                                  \
    X(WAITING_OVER, "over")     /* the sale has ended */                                           \
    X(WAITING_NOT_KEPT, "none") /* this sale has no waiting room: everybody may buy */

typedef enum waiting_turn { WAITING_TURN_LIST(LIST_VALUE) WAITING_TURN_COUNT } waiting_turn;

const char *waiting_turn_name(waiting_turn turn);

/* How somebody stands, a fifth of a second ago at most. */
struct waiting_view {
    waiting_turn turn;
    int64_t number; /* of the ticket; 0: none */
    int64_t place;  /* 0: there is none yet */
    int64_t
        wait_ms; /* until that place is let in, at the present rate; before the draw: until then */
    int64_t starts_in_ms;
    int64_t admitted; /* places; how many wait: those given, less these */
    int64_t given;
    int64_t admit;                            /* places a second */
    bool is_over;                             /* the sale has ended */
    unsigned char commitment[TOKEN_MAC_SIZE]; /* of the draw's seed */
    unsigned char seed[TOKEN_MAC_SIZE];       /* once is_drawn */
    int64_t drawn; /* who took part in it; or as store_waiting.h has it */
};

struct waiting_asker {
    const char *sale_id; /* valid ones, borrowed */
    const char *buyer;
    const char *ticket; /* as it was sent; NULL: none. It is good for its buyer alone */
};

/*
 * Returns  STORE_OK and *out; STORE_NOT_FOUND: no such sale; else the sale could not be asked for.
 */
store_status waiting_rooms_view(struct waiting_rooms *self, const struct waiting_asker *who,
                                struct waiting_view *out, struct lk_error *err);
/* A buyer's ticket, the same however often it is asked for; who shows it is answered without asking Redis.
   NOT_FOUND also when there is no waiting room, or the sale is over. */
store_status waiting_rooms_join(struct waiting_rooms *self, const struct waiting_asker *who,
                                char out_ticket[TICKET_SIZE], struct waiting_view *out,
                                struct lk_error *err);

#endif
