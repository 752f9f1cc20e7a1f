/*
 * Histories as the checks see them: holds, and when what was disturbed. Inside history_check alone.
 */
#ifndef LK_HISTORY_HOLDS_H
#define LK_HISTORY_HOLDS_H

#include "finding.h"

/* From an acquire to the last release of its token. */
struct hold {
    const struct history_line *acquire;
    const char *key;
    const char *token;
    int64_t begins_ns;    /* certain from here... */
    int64_t ends_ns;      /* ...to before this; not after begins_ns: never certain */
    int64_t may_begin;    /* possible from here... */
    int64_t may_end;      /* ...to before this */
    int64_t granted_ns;   /* about when the server granted it, or before */
    int64_t believes_ns;  /* until here the holder, asking no clock, believed in it */
    int64_t released_ns;  /* its release was answered; INT64_MAX: not surely */
    int64_t confirmed_ns; /* the last time the server was asked and said so */
    int64_t units;
    uint64_t fence;
    bool is_renewed;
    bool is_over;    /* lost, or given back: no answer prolongs it any more */
    bool is_granted; /* false: an acquire without an answer, only possible */
};

/* A span in which a process (0: all) could not do its work. */
struct trouble {
    long pid;
    int64_t from_ns;
    int64_t to_ns;
    int64_t latest_to_ns; /* of this and all before it of the same process */
    bool is_death;
    bool is_oblivion; /* the server forgot all, at some moment of it */
};

/* Fill holds and troubles (and check the depth on the way). False when out of memory. */
bool history_make_holds(struct checking *checking);
bool history_make_troubles(struct checking *checking);

/* Whether something disturbed this process between the two moments. */
bool history_was_troubled(const struct checking *checking, long pid, int64_t from_ns,
                          int64_t to_ns);

/* Whether the server may have forgotten what it knew at one of the two moments, at the other. */
bool history_was_emptied(const struct checking *checking, int64_t from_ns, int64_t to_ns,
                         int64_t *out_since_ns);

/* When a process was killed; INT64_MAX: it was not. Nothing else befalls it afterwards. */
int64_t history_killed_at(const struct checking *checking, long pid);

/* Whether a process was killed between the two moments: what it did last it may not have told. */
bool history_was_anybody_killed(const struct checking *checking, int64_t from_ns, int64_t to_ns);

/* Whether a line is this step, ended so (status NULL: however). */
bool history_is(const struct history_line *line, const char *step, const char *status);
bool history_is_kind(const struct history_line *line, const char *kind);

#endif
