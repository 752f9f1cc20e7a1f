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

/*
 * Whether this is the body of a purchase: nothing, {} or {"qty":1}.
 *
 * Returns  false with *error filled; the usual three are told without parsing.
 */
bool json_read_purchase(const char *body, size_t len, struct json_error *error);

/*
 * The body of a new sale: id, stock, and as they like title, startsAt, endsAt, guard.
 *
 * Shape    of *out: id, title (the id when none was given), guard ("" when none), initial, starts_ms
 *          and ends_ms (0 when none); the rest is zero.
 */
bool json_read_sale(const char *body, size_t len, struct sale *out, struct json_error *error);

/* The body of a step that needs none: nothing, or {}. */
bool json_read_nothing(const char *body, size_t len, struct json_error *error);

/* The body of a restock: units, from 1 to SALE_STOCK_MAX. */
bool json_read_restock(const char *body, size_t len, int64_t *out_units, struct json_error *error);

/* The body of a switch: guard, which is the name of one. */
bool json_read_guard(const char *body, size_t len, char out[SALE_GUARD_MAX + 1],
                     struct json_error *error);

/* A title that lives beside the patch that borrows it. */
struct json_patch {
    struct sale_patch patch;
    char title[SALE_TITLE_MAX + 1];
};

/* The body of a patch: at least one of title, startsAt and endsAt (null: open end). */
bool json_read_patch(const char *body, size_t len, struct json_patch *out,
                     struct json_error *error);

enum json_view { JSON_FOR_BUYERS, JSON_FOR_OPERATORS, JSON_VIEWS };

/* Owns: the results are yours (free); NULL when out of memory, or when Redis holds no valid UTF-8. */
char *json_of_sale(const struct sale *sale, enum json_view view);

/* The report of the service about itself; `instance` is who says it. */
char *json_of_audit(const struct sale_audit *audit, const char *id, const char *instance);

#endif
