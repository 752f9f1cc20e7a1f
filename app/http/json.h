/*
 * JSON of the API: strict bodies in, sales out. (Orders go out by http_answers.c, without a library.)
 */
#ifndef SECKILL_JSON_H
#define SECKILL_JSON_H

#include "sale/sale_audit.h"
#include "store/store_admin.h"
#include "store/store_pay.h"

struct json_error {
    char field[64];     /* the member that is wrong; "body" when it is the whole */
    const char *detail; /* static */
};

/* Of a body, into what each says. Returns  false with *error filled. */
typedef bool json_reader(const char *body, size_t len, void *out, struct json_error *error);

/* A purchase: nothing, {} or {"qty":1}; the usual three are told without parsing. *out: not used. */
json_reader json_read_purchase;

/*
 * A new sale: id, stock, and as they like title, startsAt, endsAt, guard, payment,
 * waitingRoom, segments.
 *
 * Shape    of *out, a struct sale: id, title (the id when none was given), guard ("" when none), initial, starts_ms
 *          and ends_ms (0 when none), waiting.admit (-1 when nothing was said), segments.count; the rest is zero.
 */
json_reader json_read_sale;

/* A step that needs no words: nothing, or {}. *out: not used. */
json_reader json_read_nothing;

/* A restock: units, from 1 to SALE_STOCK_MAX; an int64_t. */
json_reader json_read_restock;

struct json_event {
    char id[PAYMENT_ID_MAX + 1], payment[PAYMENT_ID_MAX + 1], sale[PAYMENT_ID_MAX + 1];
    char order[PAYMENT_ID_MAX + 1], buyer[PAYMENT_ID_MAX + 1], currency[PAYMENT_ID_MAX + 1];
    char amount[24];  /* digits */
    const char *kind; /* static: "succeeded"; of a refund "sent", "done" */
};

/* What a payment provider says: all of id, type, payment, sale, order, buyer, amount, currency; a struct
   json_event. */
json_reader json_read_event;

/* How far a refund is: payment and state; a struct json_event that has these two, zeroed before. */
json_reader json_read_refund;

/* A switch: guard, which is the name of one; a char[SALE_GUARD_MAX + 1]. */
json_reader json_read_guard;

/* Who sits down in a class: name, of 1 to JSON_NAME_MAX bytes; a char[JSON_NAME_MAX + 1]. */
enum { JSON_NAME_MAX = 40 };
json_reader json_read_name;

enum { JSON_SCHEDULE_MAX = 128, JSON_ACTORS_MAX = 4, JSON_ACTED_UNITS_MAX = 16 };

/* A play of the lab: guard, whatever its name, and schedule, and as they like units and actors. */
struct json_play {
    struct sale sale; /* guard; initial: the units, 0 when none were given */
    unsigned actors;  /* likewise */
    char schedule[JSON_SCHEDULE_MAX + 1];
};

/* A struct json_play, zeroed before. */
json_reader json_read_play;

/* A search: guard, and as they like units and actors, faults, kinds (of "tklspr") and seconds; what a struct
   json_search has before stays, where nothing is given. */
enum { JSON_FAULTS_MAX = 2, JSON_KINDS_MAX = 6, JSON_SEARCH_SECONDS_MAX = 5 };
struct json_search {
    struct json_play play;
    unsigned faults, seconds;
    char kinds[JSON_KINDS_MAX + 1];
    bool events;
};
json_reader json_read_search;

/* A title that lives beside the patch that borrows it. */
struct json_patch {
    struct sale_patch patch;
    char title[SALE_TITLE_MAX + 1];
};

/* A patch: at least one of title, startsAt, endsAt (null: open end) and waitingRoom; a struct json_patch. */
json_reader json_read_patch;

enum json_view { JSON_FOR_BUYERS, JSON_FOR_OPERATORS, JSON_VIEWS };

/* Owns: the results are yours (free); NULL when out of memory, or when Redis holds no valid UTF-8. */
char *json_of_sale(const struct sale *sale, enum json_view view);

/* The report of the service about itself; `instance` is who says it. */
char *json_of_audit(const struct sale_audit *audit, const char *id, const char *instance);

#endif
