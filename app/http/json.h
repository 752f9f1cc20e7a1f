/*
 * JSON of the API: strict bodies in, sales out. (Orders go out by http_answers.c, without a library.)
 */
#ifndef SECKILL_JSON_H
#define SECKILL_JSON_H

#include "sale/sale_audit.h"
#include "store/store_admin.h"

struct json_error {
    char field[64];     /* the member that is wrong; "body" when it is the whole */
    const char *detail; /* static */
};

/* Of a body, into what each says. Returns  false with *error filled. */
typedef bool json_reader(const char *body, size_t len, void *out, struct json_error *error);

/* A purchase: nothing, {} or {"qty":1}; the usual three are told without parsing. *out: not used. */
json_reader json_read_purchase;

/*
 * A new sale: id, stock, and as they like title, startsAt, endsAt, guard.
 *
 * Shape    of *out, a struct sale: id, title (the id when none was given), guard ("" when none), initial, starts_ms
 *          and ends_ms (0 when none); the rest is zero.
 */
json_reader json_read_sale;

/* A step that needs no words: nothing, or {}. *out: not used. */
json_reader json_read_nothing;

/* A restock: units, from 1 to SALE_STOCK_MAX; an int64_t. */
json_reader json_read_restock;

/* A switch: guard, which is the name of one; a char[SALE_GUARD_MAX + 1]. */
json_reader json_read_guard;

/* A title that lives beside the patch that borrows it. */
struct json_patch {
    struct sale_patch patch;
    char title[SALE_TITLE_MAX + 1];
};

/* A patch: at least one of title, startsAt and endsAt (null: open end); a struct json_patch. */
json_reader json_read_patch;

enum json_view { JSON_FOR_BUYERS, JSON_FOR_OPERATORS, JSON_VIEWS };

/* Owns: the results are yours (free); NULL when out of memory, or when Redis holds no valid UTF-8. */
char *json_of_sale(const struct sale *sale, enum json_view view);

/* The report of the service about itself; `instance` is who says it. */
char *json_of_audit(const struct sale_audit *audit, const char *id, const char *instance);

#endif
