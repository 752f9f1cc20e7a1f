/*
 * What the parts of seckillctl share: the words of the command line, exit statuses, and how to
 * complain. A command is a row of the table in seckillctl.c; it gives an exit status.
 */
#ifndef SECKILL_CTL_H
#define SECKILL_CTL_H

#include <stdbool.h>
#include <stdio.h>

#include "lab/lab.h"
#include "start/config.h"

enum { CTL_OK, CTL_REFUSED, CTL_USAGE, CTL_UNREACHABLE };

/* What was said on the command line; strings are borrowed from it; NULL: not said. */
struct ctl_request {
    const char *admin;
    const char *token_file;
    const char *id;
    const char *stock, *title, *starts, *ends, *guard, *units;
    const char *admit; /* N or N:draw */
    const char *segments;
    const char *payment; /* AMOUNT:CURRENCY:SECONDS; of a refund its payment */
    const char *state;
    const char *key, *sub, *ttl, *count, *seed, *prefix, *out, *now;
    const char *lang;
    const char *format, *before;
    const char *schedule, *actors, *faults, *depth, *kinds, *seconds;
    const char *program, *exercise;
    struct config servers; /* Redis and the book, as seckilld is told of them */
    bool is_all;           /* every sale; go on behind what was found */
    bool is_json;          /* print what the service said, as it is */
};

/* Say what is wrong with the command line; gives CTL_USAGE, so that failing is one line. */
int ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One call to the admin port. */
struct ctl_call {
    const char *method; /* NULL: POST with a body, else GET */
    const char *path;   /* behind /api/v1/admin/sales */
    const char *body;   /* JSON; NULL: none */
    const char *key;    /* Idempotency-Key; NULL: none */
    bool is_list;       /* lines without end: printed as they come... */
    FILE *to;           /* ...or written there, word by word; NULL: printed */
    long *out_status;   /* what was answered, 0 without an answer to its end; NULL: nobody asks */
};

/* Ask, and print what it says. */
int ctl_call_and_print(const struct ctl_request *request, const struct ctl_call *call);

/* A call about the sale of request->id, below it at `action` ("/end"); its path is filled in. */
int ctl_sale_call(const struct ctl_request *request, const char *action, struct ctl_call call);
int ctl_sale_create(const struct ctl_request *request);
int ctl_sale_list(const struct ctl_request *request);
int ctl_sale_restock(const struct ctl_request *request);
int ctl_sale_refund(const struct ctl_request *request);
int ctl_sale_edit(const struct ctl_request *request);
int ctl_sale_archive(const struct ctl_request *request);

int ctl_book_rebuild(const struct ctl_request *request);
int ctl_book_audit(const struct ctl_request *request);
int ctl_book_export(const struct ctl_request *request);
int ctl_book_drop(const struct ctl_request *request);

int ctl_token(const struct ctl_request *request);
int ctl_buyer(const struct ctl_request *request);
int ctl_key(const struct ctl_request *request);

int ctl_lab_list(const struct ctl_request *request);
int ctl_lab_run(const struct ctl_request *request);
int ctl_lab_play(const struct ctl_request *request);
int ctl_lab_explore(const struct ctl_request *request);
/* For them: --lang is read, or complained of; a lab is open, whose plays Ctrl-C ends, or NULL. */
bool ctl_lab_language(const struct ctl_request *request, enum lab_language *out);
struct lab *ctl_lab_open(void);

#endif
