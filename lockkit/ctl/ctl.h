/*
 * What the parts of lockctl share: the words of the command line, exit statuses, and how to
 * complain. A command is a row of the table in arguments.c; it gives an exit status.
 */
#ifndef LOCKCTL_CTL_H
#define LOCKCTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/client.h"

/* From sysexits.h where it has a word for it. */
enum {
    CTL_OK = 0,
    CTL_NOTHING = 1,      /* inspect, break: nobody holds it; or break was not confirmed */
    CTL_USAGE = 64,       /* EX_USAGE */
    CTL_NO_LOCK = 65,     /* EX_DATAERR: something of that name is there, and is no lock */
    CTL_UNREACHABLE = 69, /* EX_UNAVAILABLE: no server, or no answer */
    CTL_REFUSED = 70,     /* EX_SOFTWARE: the server answered with an error */
    CTL_SYSTEM = 71,      /* EX_OSERR: out of memory, descriptors, processes */
    CTL_BUSY = 75,        /* EX_TEMPFAIL: not acquired in time */
    CTL_LOST = 76,        /* the lock ended before the command did */
    CTL_CANNOT_RUN = 126,
    CTL_NOT_FOUND = 127,
    CTL_SIGNAL = 128, /* plus its number */
};

enum { CTL_URLS_MAX = 16, CTL_FOREVER = -1 };

typedef enum ctl_on_lost { CTL_ON_LOST_TERM, CTL_ON_LOST_KILL, CTL_ON_LOST_IGNORE } ctl_on_lost;

struct ctl_kind; /* kinds.h */

/* What was said on the command line; strings are borrowed from it. */
struct ctl_request {
    const char *urls[CTL_URLS_MAX]; /* of --redis; else of LOCKCTL_REDIS, else one that is NULL */
    size_t url_count;
    const char *password_file, *loader_file, *sentinel_file; /* secrets.h; NULL: none */
    struct lk_tls_options tls;
    const char *name; /* of the lock; NULL: list */
    const struct ctl_kind *kind;
    int64_t wait_ms; /* CTL_FOREVER: no limit */
    int64_t lease_ms, grace_ms;
    int64_t at_least_ms; /* 0: given back as soon as the command has ended */
    int64_t permits;     /* 0: not said */
    ctl_on_lost on_lost;
    bool is_not_renewed;
    bool is_verbose;
    bool is_json;
    bool is_confirmed; /* --yes */
    bool has_numbers;  /* --all */
    const char *match; /* NULL: every key */
    char **command;    /* run, lead: its words, ending with NULL */
};

int64_t ctl_now_ms(void); /* by the monotonic clock */

/* Say what is wrong, in one line on stderr; gives CTL_USAGE, so that failing is one line. */
int ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say why lockkit failed, and what can be done about it; gives the exit status for that. about: a
   lock's name, if the reason does not begin with it, or "". */
int ctl_complain_of(const char *about, const struct lk_error *err);

/* With --verbose: say what goes on. */
void ctl_tell(const struct ctl_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Text for a terminal: on one line, and nothing in it but printable UTF-8; all other bytes, and the
 * backslash, are \xNN. What does not fit is cut off.
 */
void ctl_escape(const char *text, char *out, size_t size);

/* A URL for people: without user and password. What does not fit is cut off. */
void ctl_url_label(const char *url, char *out, size_t size);

int ctl_run(const struct ctl_request *request);
int ctl_lead(const struct ctl_request *request);
int ctl_inspect(const struct ctl_request *request);
int ctl_list(const struct ctl_request *request);
int ctl_break(const struct ctl_request *request);

#endif
