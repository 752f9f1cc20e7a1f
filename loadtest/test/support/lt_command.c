/*
 * One copy of the text, cut up.
 */
#include "lt_command.h"

#include <unistd.h>

#include "lt_net.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 120000, READY_MS = 10000 };

__attribute__((format(printf, 3, 0))) static void
make(struct lt_command *out, const struct lt_sandbox *sandbox, const char *format, va_list args)
{
    char *rest = out->text;
    size_t files = 0;

    assert_in_range(vsnprintf(out->text, sizeof out->text, format, args), 0, sizeof out->text - 1);
    out->argc = 0;
    for (char *word = NULL; (word = strsep(&rest, " "));) {
        if (!*word) continue;
        assert_true(out->argc < LT_WORDS_MAX && files < LT_COMMAND_FILES);
        if (*word == '@') {
            (void)snprintf(out->files[files], sizeof out->files[0], "%s/%s", sandbox->dir,
                           word + 1);
            word = out->files[files++];
        }
        out->words[out->argc++] = word;
    }
    out->words[out->argc] = NULL;
}

void lt_command_make(struct lt_command *out, const struct lt_sandbox *sandbox, const char *format,
                     ...)
{
    va_list args;

    va_start(args, format);
    make(out, sandbox, format, args);
    va_end(args);
}

__attribute__((format(printf, 2, 0))) static const struct lt_outcome *
try(const struct lt_sandbox *sandbox, const char *format, va_list args)
{
    static struct lt_outcome outcome;
    struct lt_command line;

    make(&line, sandbox, format, args);
    assert_true(lt_run(sandbox, line.argv, LIMIT_MS, &outcome));
    return &outcome;
}

const struct lt_outcome *lt_try(const struct lt_sandbox *sandbox, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const struct lt_outcome *outcome = try(sandbox, format, args);
    va_end(args);
    return outcome;
}

const char *lt_must(const struct lt_sandbox *sandbox, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const struct lt_outcome *outcome = try(sandbox, format, args);
    va_end(args);
    if (outcome->status != status)
        fail_msg("%s\nended with %d, not %d: %s", format, outcome->status, status, outcome->output);
    return outcome->output;
}

void lt_must_all(const struct lt_sandbox *sandbox, const char *program, const struct lt_case *rows)
{
    for (; rows->words; rows++) {
        const char *said = lt_must(sandbox, rows->status, "%s %s", program, rows->words);
        if (!strstr(said, rows->says)) fail_msg("%s %s: %s", program, rows->words, said);
    }
}

static bool listens(void *port)
{
    int fd = lt_connect(*(int *)port);

    if (fd >= 0) (void)close(fd);
    return fd >= 0;
}

bool lt_start_redis(struct process *out, const struct lt_sandbox *sandbox, int port,
                    const char *certificate, const char *clients)
{
    struct lt_command line;
    char log[LT_PATH_MAX + 16];

    (void)snprintf(log, sizeof log, "%s/redis-%d", sandbox->dir, port);
    if (certificate)
        lt_command_make(&line, sandbox,
                        "redis-server --save '' --rename-command AUTH '' --port 0 --tls-port %d "
                        "--tls-cert-file @%s.crt --tls-key-file @server.key "
                        "--tls-ca-cert-file @ca.crt --tls-auth-clients %s",
                        port, certificate, clients);
    else
        lt_command_make(&line, NULL, "redis-server --save '' --rename-command AUTH '' --port %d",
                        port);
    return process_start(out, line.argv, log, log, NULL) && lt_eventually(listens, &port, READY_MS);
}
