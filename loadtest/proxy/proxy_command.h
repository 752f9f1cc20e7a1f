/*
 * The verbs of the fault proxy: one line of text -> a command, and what a command does to the
 * faults of a link. No sockets here.
 *
 *     [LINK:]VERB [ARGUMENT...]        without LINK: every link
 *
 * Faults add up: a link can be slow, jittery and about to eat replies. Of the verbs that stop the
 * flow (blackhole, stall, oneway) the last one counts. `pass` heals all.
 */
#ifndef LOADTEST_PROXY_COMMAND_H
#define LOADTEST_PROXY_COMMAND_H

#include <stdio.h>

#include "common/failure.h"
#include "proxy_pipe.h"

enum { PROXY_NAME_MAX = 32, PROXY_LINE_MAX = 200, PROXY_EAT_MAX = 1000000000 };

typedef enum proxy_verb {
    PROXY_PASS,
    PROXY_DELAY,
    PROXY_TRICKLE,
    PROXY_STALL,
    PROXY_ONEWAY,
    PROXY_BLACKHOLE,
    PROXY_CUT,
    PROXY_REFUSE,
    PROXY_EAT_REPLY,
    PROXY_STATUS,
    PROXY_VERB_COUNT,
} proxy_verb;

/* Directions; a side of a connection has the number of the direction that leaves it. */
typedef enum proxy_direction {
    PROXY_C2S,
    PROXY_S2C,
    PROXY_CLIENT = PROXY_C2S,
    PROXY_SERVER = PROXY_S2C,
} proxy_direction;

struct proxy_command {
    char link[PROXY_NAME_MAX]; /* "": every link */
    proxy_verb verb;
    int64_t numbers[2]; /* the arguments, in order; of oneway a proxy_direction */
};

/* What holds the flow up. */
typedef enum proxy_gate {
    PROXY_OPEN,
    PROXY_STALLED,
    PROXY_ONLY_C2S,
    PROXY_ONLY_S2C,
    PROXY_SWALLOWED, /* blackhole */
    PROXY_GATE_COUNT,
} proxy_gate;

/* What is wrong with a link right now; all zero: nothing. */
struct proxy_faults {
    proxy_gate gate;
    struct proxy_shape shape;
    bool is_refusing;
    int64_t eat_next; /* so many requests to come will lose their reply */
};

/* "link1", "redis-a": letters, digits, '-' and '_', at most 31. */
bool proxy_name_is_valid(const char *name, size_t length);

/* Returns  false: `failure` says what cannot be understood. */
bool proxy_command_parse(struct proxy_command *command, const char *line, struct failure *failure);

const char *proxy_verb_name(proxy_verb verb);

/* The command's words without the link, as they would be typed: "delay 20 5". */
void proxy_command_words(const struct proxy_command *command, char *out, size_t size);

/* Change `faults` as the verb says; `cut` and `status` change nothing that lasts. */
void proxy_faults_apply(struct proxy_faults *faults, const struct proxy_command *command);

const char *proxy_gate_name(proxy_gate gate);

/* Do bytes of this direction move? In a blackhole they move too, but get nowhere. */
bool proxy_gate_lets(proxy_gate gate, proxy_direction direction);

/* One line per verb. */
void proxy_command_help(FILE *to);

#endif
