/*
 * See program.h.
 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hex.h"
#include "http/strict_json.h"

enum { TOKEN_BYTES = 16, TEXT_SIZE = 4096, SHOWN = 80 };

static struct guard_result sell_nothing(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    (void)ctx;
    (void)batch;
    (void)count;
    return (struct guard_result){.status = GUARD_UNAVAILABLE}; /* its process does that */
}

void program_init(struct program *out, const struct task *task, const char *command)
{
    *out = (struct program){.task = task, .command = command};
    out->guard = (struct guard){.name = task->name,
                                .idea = task->what.en,
                                .sell = sell_nothing,
                                .needs = NEED_NOTHING,
                                .way = out};
}

const struct program *program_of(const struct guard *guard)
{
    return guard && guard->sell == sell_nothing ? guard->way : NULL;
}

/* ---- what it is told ----------------------------------------------------------------------------- */

static void make_token(char out[2 * TOKEN_BYTES + 1])
{
    unsigned char bytes[TOKEN_BYTES] = {0};

    (void)!getrandom(bytes, sizeof bytes, 0); /* so few come at once */
    hex_write(bytes, sizeof bytes, out);
}

bool program_env(const struct program *self, const struct program_buyer *buyer,
                 char *out[PROGRAM_ENV_MAX])
{
    char token[2 * TOKEN_BYTES + 1];
    const char *path = secure_getenv("PATH");
    const char *role = self->task->roles[buyer->number % 2];
    const struct {
        const char *name, *value;
    } all[] = {{"PATH", path ? path : "/usr/local/bin:/usr/bin:/bin"},
               {"LAB_REDIS_URL", buyer->url},
               {"LAB_STOCK_KEY", STAGE_KEY("stock")},
               {"LAB_ORDERS_KEY", STAGE_KEY("orders")},
               {"LAB_LOCK_KEY", STAGE_KEY("lock")},
               {"LAB_OUTBOX_KEY", self->task->sends ? STAGE_KEY("outbox") : NULL},
               {"LAB_BUYER", buyer->name},
               {"LAB_ORDER", buyer->order_id},
               {"LAB_TOKEN", token},
               {"LAB_LEASE_MS", "30000"},
               {"LAB_REDIS_URL_1", buyer->servers[0]},
               {"LAB_REDIS_URL_2", buyer->servers[1]},
               {"LAB_REDIS_URL_3", buyer->servers[2]},
               {"LAB_ROLE", role}};
    size_t count = 0;

    make_token(token);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i].value) continue;
        if (asprintf(&out[count], "%s=%s", all[i].name, all[i].value) < 0) {
            out[count] = NULL;
            return false;
        }
        count++;
    }
    return true;
}

/* ---- what it says -------------------------------------------------------------------------------- */

/* What lies in a pipe, as text; more than fits has stopped whoever wrote it. */
static size_t read_pipe(int fd, char out[TEXT_SIZE])
{
    size_t len = 0;
    ssize_t got = 1;

    while (got > 0 && len < TEXT_SIZE - 1) {
        got = read(fd, out + len, TEXT_SIZE - 1 - len);
        if (got > 0) len += (size_t)got;
    }
    out[len] = '\0';
    return len;
}

/* The last line of a text, which is cut for it. */
static const char *last_line(char *text)
{
    size_t len = strlen(text);
    const char *line = NULL;

    while (len > 0 && strchr("\r\n ", text[len - 1]))
        text[--len] = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void take_result(const struct program *self, const char *result, struct program_answer *out)
{
    char wanted[128] = "";
    char *end = wanted;

    for (size_t i = 0; i < TASK_RESULTS_MAX && self->task->results[i].text; i++) {
        if (strcmp(self->task->results[i].text, result) == 0) {
            out->told = self->task->results[i].text;
            out->claim = self->task->results[i].claim;
            return;
        }
        end = stpcpy(stpcpy(end, i > 0 ? ", " : ""), self->task->results[i].text);
    }
    (void)start_error_say(&out->trouble, "its result is \"%.*s\", which is none of: %s", SHOWN,
                          result, wanted);
}

static void read_line(const struct program *self, char *text, size_t len,
                      struct program_answer *out)
{
    size_t line = strcspn(text, "\n");
    const char *more = text + line + strspn(text + line, "\r\n ");
    json_t *root = strict_json_load(text, line, NULL);
    const char *result = json_string_value(json_object_get(root, "result"));

    if (len == 0) {
        (void)start_error_say(
            &out->trouble, "it ended without a word: one line like {\"result\":\"%s\"} is wanted",
            self->task->results[0].text);
    } else if (*more) {
        (void)start_error_say(&out->trouble, "it printed a second line: %.*s", SHOWN, more);
    } else if (!result) {
        (void)start_error_say(&out->trouble, "this is no line like {\"result\":\"%s\"}: %.*s",
                              self->task->results[0].text, (int)(line < SHOWN ? line : SHOWN),
                              text);
    } else {
        take_result(self, result, out);
    }
    json_decref(root);
}

struct program_answer program_read(const struct program *self, int status, int out, int err)
{
    struct program_answer answer = {.told = NULL};
    char said[TEXT_SIZE];
    char complaint[TEXT_SIZE];
    size_t len = read_pipe(out, said);

    (void)read_pipe(err, complaint);
    if (status != 0) {
        (void)start_error_say(&answer.trouble, "it ended with status %d: %.200s", status,
                              last_line(complaint));
    } else {
        read_line(self, said, len, &answer);
    }
    return answer;
}
