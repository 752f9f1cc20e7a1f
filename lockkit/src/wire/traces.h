/*
 * What a command leaves behind on its connection. A caller may send any: who is lent the connection next
 * must find it as lockkit opened it.
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

/* Note a command and what it was answered. */
void lki_traces_note(struct lki_traces *traces, const struct lk_command *command,
                     const lk_reply *reply);

#endif
