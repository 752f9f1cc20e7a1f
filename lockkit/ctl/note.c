/*
 * See note.h. Failures are not told: what they cost is a word. One thread.
 */
#include "note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEY_SIZE = LK_INSPECT_KEY_MAX + LK_INSPECT_OWNER_MAX + 32, LIMIT_MS = 300, HOST_SIZE = 65 };

#define WEEK_MS INT64_C(604800000)

/* In the lock's slot of a cluster, and among the keys that its user has rights to. */
static struct lk_bytes key_of(const char *name, const char *token, char out[KEY_SIZE])
{
    (void)snprintf(out, KEY_SIZE,
                   strchr(name, '{') ? "lockctl_holder:%s:%s" : "lockctl_holder:{%s}:%s", name,
                   token);
    return lk_bytes_of(out);
}

static void tell_all(struct kinds_hold *hold, const struct lk_bytes *words, size_t count)
{
    for (size_t i = 0; i < hold->client_count; i++) {
        lk_reply *reply = NULL;

        if (lk_client_call(hold->clients[i], &(struct lk_command){words, count}, 1, LIMIT_MS,
                           &reply, NULL) == LK_OK)
            lk_reply_free(reply);
    }
}

void note_write(struct kinds_hold *hold, pid_t pid)
{
    char key[KEY_SIZE];
    char host[HOST_SIZE] = "?";
    char text[NOTE_SIZE];
    char week[24];
    const char *command = hold->request->command[0];
    const char *slash = strrchr(command, '/');

    if (!hold->lock) return;
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(text, sizeof text, "pid %ld on %s: %.*s", (long)pid, host, NOTE_SIZE / 2,
                   slash ? slash + 1 : command);
    (void)snprintf(week, sizeof week, "%" PRId64, WEEK_MS);
    const struct lk_bytes words[] = {LK_BYTES("SET"),
                                     key_of(hold->request->name, lk_lock_token(hold->lock), key),
                                     lk_bytes_of(text), LK_BYTES("PX"), lk_bytes_of(week)};
    tell_all(hold, words, 5);
}

void note_remove(struct kinds_hold *hold, const char *token)
{
    char key[KEY_SIZE];
    const struct lk_bytes words[] = {LK_BYTES("DEL"), key_of(hold->request->name, token, key)};

    if (*token) tell_all(hold, words, 2);
}

/* The answers to GET and PTTL. */
static void take(lk_reply *const replies[2], struct note *out)
{
    struct lk_bytes text = lk_reply_bytes(replies[0]);

    if (lk_reply_type_of(replies[0]) != LK_REPLY_STRING || text.len >= NOTE_SIZE) return;
    memcpy(out->text, text.data, text.len);
    out->text[text.len] = '\0';
    out->age_ms = WEEK_MS - lk_reply_integer(replies[1], WEEK_MS);
}

void note_read(lk_client *client, const struct lk_inspection *found,
               struct note out[LK_INSPECT_ROWS])
{
    static char keys[LK_INSPECT_ROWS][KEY_SIZE];
    struct lk_bytes words[2 * LK_INSPECT_ROWS][2];
    struct lk_command commands[2 * LK_INSPECT_ROWS];
    lk_reply *replies[2 * LK_INSPECT_ROWS] = {0};
    size_t count = found->holder_count < LK_INSPECT_ROWS ? found->holder_count : LK_INSPECT_ROWS;

    memset(out, 0, LK_INSPECT_ROWS * sizeof *out);
    for (size_t i = 0; i < 2 * count; i++) {
        words[i][0] = i % 2 ? LK_BYTES("PTTL") : LK_BYTES("GET");
        words[i][1] = key_of(found->key, found->holders[i / 2].owner, keys[i / 2]);
        commands[i] = (struct lk_command){words[i], 2};
    }
    if (count == 0 || lk_client_call(client, commands, 2 * count, LIMIT_MS, replies, NULL) != LK_OK)
        return;
    for (size_t i = 0; i < count; i++)
        take(&replies[2 * i], &out[i]);
    for (size_t i = 0; i < 2 * count; i++)
        lk_reply_free(replies[i]);
}
