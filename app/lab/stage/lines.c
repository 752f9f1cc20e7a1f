/*
 * See lines.h. The actor's thread.
 */
#include "lines.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "stage_internal.h"

enum { WORDS_MAX = 16, ANSWER_SIZE = 256, LINE_SIZE = 1024 };

static const char compare_and_delete[] =
    "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1])";

struct speaker {
    struct stage_actor *actor;
    lk_client *database; /* owned; NULL: not asked yet */
    char got[ANSWER_SIZE];
};

/* ---- words ----------------------------------------------------------------------------------------- */

static void expand(const struct speaker *self, const char *word, FILE *out)
{
    const struct stage_cast *cast = &self->actor->cast;
    const struct {
        const char *name, *value;
    } all[] = {{"$me", cast->name},
               {"$buyer", cast->buyer ? cast->buyer : cast->name},
               {"$order", self->actor->order_id},
               {"$got", self->got},
               {"$compare_and_delete", compare_and_delete}};

    while (*word) {
        size_t i = 0;

        while (i < sizeof all / sizeof all[0] &&
               strncmp(word, all[i].name, strlen(all[i].name)) != 0)
            i++;
        if (i == sizeof all / sizeof all[0]) {
            (void)fputc(*word++, out);
        } else {
            (void)fputs(all[i].value, out);
            word += strlen(all[i].name);
        }
    }
}

/* NULL: no memory. Yours. */
static char *expanded(const struct speaker *self, const char *text)
{
    char *word = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&word, &len);

    if (!out) return NULL;
    expand(self, text, out);
    return fclose(out) == 0 ? word : NULL;
}

/* ---- answers --------------------------------------------------------------------------------------- */

/* "nil", "0", "ERROR WRONGTYPE...", "0, -1" */
static void print_answer(const lk_reply *reply, FILE *out)
{
    lk_reply_type type = lk_reply_type_of(reply);

    for (size_t i = 0; type == LK_REPLY_ARRAY && i < lk_reply_count(reply); i++) {
        if (i > 0) (void)fputs(", ", out);
        print_answer(lk_reply_at(reply, i), out);
    }
    if (type == LK_REPLY_NIL) (void)fputs("nil", out);
    if (type == LK_REPLY_INTEGER) (void)fprintf(out, "%lld", (long long)lk_reply_integer(reply, 0));
    if (type == LK_REPLY_ERROR) (void)fputs("ERROR ", out);
    if (type == LK_REPLY_ERROR || type == LK_REPLY_STRING)
        (void)fputs(lk_reply_bytes(reply).data, out);
}

/* What does not fit is cut. */
static void take_answer(struct speaker *self, const lk_reply *reply)
{
    FILE *out = fmemopen(self->got, sizeof self->got, "w");

    if (!out) return;
    print_answer(reply, out);
    (void)fclose(out);
    self->got[sizeof self->got - 1] = '\0';
}

/* ---- asking ---------------------------------------------------------------------------------------- */

static bool ask_redis(struct speaker *self, const char *text)
{
    char line[LINE_SIZE];
    char *words[WORDS_MAX] = {NULL};
    char *rest = NULL;
    struct lk_bytes args[WORDS_MAX];
    struct lk_command command = {.args = args};
    lk_reply *reply = NULL;

    (void)snprintf(line, sizeof line, "%s", text);
    for (char *word = strtok_r(line, " ", &rest); word && command.count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        words[command.count] = expanded(self, word);
        args[command.count] = lk_bytes_of(words[command.count] ? words[command.count] : "");
        command.count++;
    }
    bool is_answered =
        lk_client_call(self->actor->client, &command, 1, STAGE_LIMIT_MS, &reply, NULL) == LK_OK;
    if (is_answered) take_answer(self, reply);
    lk_reply_free(reply);
    for (size_t i = 0; i < command.count; i++)
        free(words[i]);
    return is_answered;
}

static bool ask_database(struct speaker *self, const char *sql)
{
    if (!self->database)
        self->database =
            lk_client_open(&(struct lk_client_options){.url = stage_url_beside(self->actor)}, NULL);
    return self->database && database_ask_by(self->database, sql, self->got, sizeof self->got);
}

static bool say(struct speaker *self, const struct stage_line *line)
{
    char *wanted = line->wanted ? expanded(self, line->wanted) : NULL;
    bool is_answered = line->is_sql ? ask_database(self, line->text) : ask_redis(self, line->text);
    bool goes_on = is_answered && (!wanted || fnmatch(wanted, self->got, 0) == 0);

    free(wanted);
    return goes_on;
}

/* Its second word. */
static void wait_for_ever(struct stage_actor *self, const char *text)
{
    char key[LINE_SIZE];
    const char *second = text + strcspn(text, " ") + 1;

    (void)snprintf(key, sizeof key, "%.*s", (int)strcspn(second, " "), second);
    stage_wants(self, key);
}

void stage_say(struct stage_actor *self)
{
    struct speaker speaker = {.actor = self};
    const struct stage_line *broken = NULL;

    for (const struct stage_line *line = self->cast.lines; line->text; line++) {
        if (broken && !line->is_finally) continue;
        if (!say(&speaker, line) && !broken) broken = line;
    }
    lk_client_close(speaker.database);
    if (broken && broken->is_wait) wait_for_ever(self, broken->text);
    stage_report(self, broken ? broken->told : "created");
}
