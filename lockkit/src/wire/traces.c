/*
 * Judged by the command's name: what a script changes ends with it. Threads: any; traces are one thread's.
 */
#include "traces.h"

#include <string.h>
#include <strings.h>

#include "reply.h"

static bool is_word(struct lk_bytes bytes, const char *word)
{
    return bytes.len == strlen(word) && strncasecmp(bytes.data, word, bytes.len) == 0;
}

static bool is_any(struct lk_bytes bytes, const char *const *words)
{
    while (*words && !is_word(bytes, *words))
        words++;
    return *words != NULL;
}

void lki_traces_note(struct lki_traces *traces, const struct lk_command *command,
                     const lk_reply *reply)
{
    static const char *const begin[] = {"WATCH", "MULTI", NULL};
    static const char *const end[] = {"EXEC", "DISCARD", "RESET", NULL};
    static const char *const change[] = {
        "AUTH",     "HELLO",     "MONITOR", "PSUBSCRIBE", "PSYNC",     "QUIT", "READONLY", "RESET",
        "REPLCONF", "READWRITE", "SELECT",  "SSUBSCRIBE", "SUBSCRIBE", "SYNC", NULL};
    static const char *const change_as_client[] = {"CACHING", "NO-EVICT", "NO-TOUCH", "REPLY",
                                                   "SETNAME", "TRACKING", NULL};
    struct lk_bytes name = command->args[0];

    if (is_any(name, begin)) {
        traces->is_watching = true;
    } else if (is_any(name, end)) { /* EXECABORT ends it, too */
        if (lk_reply_type_of(reply) != LK_REPLY_ERROR || lki_reply_is_error(reply, "EXECABORT"))
            traces->is_watching = false;
    } else if (is_word(name, "UNWATCH")) { /* inside a transaction it is only queued */
        if (lki_reply_is_ok(reply)) traces->is_watching = false;
    }
    if (is_any(name, change) || (is_word(name, "CLIENT") && command->count > 1 &&
                                 is_any(command->args[1], change_as_client)))
        traces->is_changed = true;
}
