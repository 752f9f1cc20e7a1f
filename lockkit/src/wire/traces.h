/*
 * Changes of a connection's state by callers' commands (AUTH, SELECT, WATCH, ...): such a connection must not
 * be lent again.
 */
#ifndef LKI_TRACES_H
#define LKI_TRACES_H

#include <stdbool.h>

#include "lockkit/reply.h"

struct lki_traces {
    bool
        is_watching; /* keys may be watched, or a transaction begun: EXEC, DISCARD, UNWATCH end it */
    bool is_changed; /* another user, database, protocol, or a subscriber: nothing ends it */
};

/* Note a command and its answer. */
void lki_traces_note(struct lki_traces *traces, const struct lk_command *command,
                     const lk_reply *reply);

#endif
