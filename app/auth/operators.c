/*
 * See operators.h. Any thread: the mutex guards the table, which a request may read anew.
 */
#include "operators.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "secret_file.h"

enum { TOKEN_MIN = 32, TOKEN_MAX = 256, COUNT_MAX = 64, FILE_MAX = COUNT_MAX * 320 };

struct entry {
    struct operator_known known;
    size_t len;
    char token[TOKEN_MAX]; /* zeros behind it */
};

struct table {
    size_t count;
    struct entry entries[COUNT_MAX];
};

struct operators {
    char *path;            /* owned */
    pthread_mutex_t mutex; /* guards all below */
    struct stat as_read;   /* the file, as it was when it was looked at last */
    struct table table;
};

const char *operators_role_name(operator_role role)
{
    static const char *const names[] = {OPERATOR_ROLE_LIST(LIST_NAME)};

    return names[role];
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool name_is_good(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@-";

    return strspn(name, allowed) == strlen(name) && strlen(name) <= OPERATORS_NAME_MAX;
}

static bool role_is_read(const char *text, operator_role *out)
{
    for (int role = 0; role < OPERATOR_ROLE_COUNT; role++) {
        if (strcmp(text, operators_role_name((operator_role)role)) != 0) continue;
        *out = (operator_role)role;
        return true;
    }
    return false;
}

static bool token_is_good(const char *token, size_t len)
{
    if (len < TOKEN_MIN || len > TOKEN_MAX) return false;
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] >= 0x7f) return false;
    }
    return true;
}

/* Takes the same time wherever the first difference is. */
static bool is_same(const struct entry *left, const struct entry *right)
{
    unsigned char difference = left->len != right->len;

    for (size_t i = 0; i < TOKEN_MAX; i++)
        difference |= (unsigned char)(left->token[i] ^ right->token[i]);
    return difference == 0;
}

/* Gives what is wrong with the line; NULL: nothing, and what it says is added. */
static const char *read_line(char *line, struct table *out)
{
    struct entry entry = {.known = {.name = "operator", .role = OPERATOR_IS_ADMIN}};
    char *words[4] = {NULL};
    size_t count = 0;
    char *rest = NULL;

    for (char *word = strtok_r(line, " \t\r", &rest); word && count < 4;
         word = strtok_r(NULL, " \t\r", &rest))
        words[count++] = word;
    if (count == 0 || words[0][0] == '#') return NULL;
    const char *token = words[count - 1];
    if (count != 1 &&
        (count != 3 || !name_is_good(words[0]) || !role_is_read(words[1], &entry.known.role)))
        return "is neither TOKEN nor NAME ROLE TOKEN, with a name of at most 32 of A-Z a-z 0-9 _ . "
               "@ - "
               "and the role read, operate or admin";
    entry.len = strlen(token);
    if (!token_is_good(token, entry.len)) return "a token has 32 to 256 visible ASCII characters";
    if (count == 3) (void)stpcpy(entry.known.name, words[0]);
    memcpy(entry.token, token, entry.len);
    for (size_t i = 0; i < out->count; i++)
        if (is_same(&out->entries[i], &entry)) return "this token is that of a line above";
    if (out->count == COUNT_MAX) return "more than 64 tokens";
    out->entries[out->count++] = entry;
    return NULL;
}

static bool read_text(const char *path, char *text, struct table *out, struct start_error *why)
{
    char *rest = text;

    for (unsigned number = 1; rest; number++) {
        const char *wrong = read_line(strsep(&rest, "\n"), out);

        if (wrong) return start_error_say(why, "%s:%u: %s", path, number, wrong);
    }
    return out->count > 0 || start_error_say(why, "%s: no token is in it", path);
}

static bool read_table(const char *path, struct table *out, struct start_error *why)
{
    char text[FILE_MAX + 1];
    size_t len = 0;

    if (!secret_file_read(path, text, sizeof text, &len, why)) return false;
    text[len] = '\0';
    out->count = 0;
    bool good = read_text(path, text, out, why);
    explicit_bzero(text, sizeof text);
    return good;
}

struct operators *operators_new(const char *path, struct start_error *why)
{
    struct operators *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)stat(path, &self->as_read); /* before it is read: a change meanwhile is seen later */
    self->path = strdup(path);
    if (!self->path) (void)start_error_say(why, "out of memory");
    if (self->path && read_table(path, &self->table, why)) return self;
    operators_free(self);
    return NULL;
}

void operators_free(struct operators *self)
{
    if (!self) return;
    (void)pthread_mutex_destroy(&self->mutex);
    free(self->path);
    explicit_bzero(self, sizeof *self);
    free(self);
}

/* ---- asked ----------------------------------------------------------------------------------- */

static bool is_other_file(const struct stat *left, const struct stat *right)
{
    return left->st_ino != right->st_ino || left->st_size != right->st_size ||
           left->st_mtim.tv_sec != right->st_mtim.tv_sec ||
           left->st_mtim.tv_nsec != right->st_mtim.tv_nsec;
}

static void read_again_locked(struct operators *self)
{
    struct stat now = {0};
    struct table table;
    struct start_error why = {0};

    (void)stat(self->path, &now); /* not there: reading it says so */
    if (!is_other_file(&self->as_read, &now)) return;
    self->as_read = now;
    if (read_table(self->path, &table, &why)) {
        self->table = table;
        log_line(LOG_INFO, "%s: read again: %zu tokens of operators", self->path, table.count);
    } else {
        log_line(LOG_ERROR, "%s; the tokens of before stay good", why.text);
    }
    explicit_bzero(&table, sizeof table);
}

bool operators_find(struct operators *self, const char *token, struct operator_known *out)
{
    struct entry given = {.len = strlen(token)};
    const struct entry *found = NULL;

    memcpy(given.token, token, given.len < TOKEN_MAX ? given.len : TOKEN_MAX);
    (void)pthread_mutex_lock(&self->mutex);
    read_again_locked(self);
    for (size_t i = 0; i < self->table.count;
         i++) /* all of them: how long it takes tells nothing */
        if (is_same(&self->table.entries[i], &given)) found = &self->table.entries[i];
    if (found) *out = found->known;
    (void)pthread_mutex_unlock(&self->mutex);
    return found != NULL;
}
