/*
 * What the parts of seckillctl share: the words of the command line, exit statuses, and how to
 * complain. A command is a row of the table in seckillctl.c; it gives an exit status.
 */
#ifndef SECKILL_CTL_H
#define SECKILL_CTL_H

#include <stdbool.h>

enum { CTL_OK, CTL_REFUSED, CTL_USAGE, CTL_UNREACHABLE };

/* What was said on the command line; strings are borrowed from it; NULL: not said. */
struct ctl_request {
    const char *admin;
    const char *token_file;
    const char *id;
    const char *stock, *title, *starts, *ends, *guard, *units;
    const char *key, *sub, *ttl, *count, *seed, *prefix, *out, *now;
    const char *lang;
    bool is_json; /* print what the service said, as it is */
};

/* Say what is wrong with the command line; gives CTL_USAGE, so that failing is one line. */
int ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One call to the admin port. */
struct ctl_call {
    const char *method; /* NULL: POST with a body, else GET */
    const char *path;   /* behind /api/v1/admin/sales */
    const char *body;   /* JSON; NULL: none */
    const char *key;    /* Idempotency-Key; NULL: none */
    bool is_list;       /* lines without end: printed as they come */
};

/* Ask, and print what it says. */
int ctl_call_and_print(const struct ctl_request *request, const struct ctl_call *call);

/* A call about the sale of request->id, below it at `action` ("/end"); its path is filled in. */
int ctl_sale_call(const struct ctl_request *request, const char *action, struct ctl_call call);
int ctl_sale_create(const struct ctl_request *request);
int ctl_sale_list(const struct ctl_request *request);
int ctl_sale_restock(const struct ctl_request *request);
int ctl_sale_edit(const struct ctl_request *request);

int ctl_token(const struct ctl_request *request);
int ctl_key(const struct ctl_request *request);

int ctl_lab_list(const struct ctl_request *request);
int ctl_lab_run(const struct ctl_request *request);

#endif
