/*
 * payd: a payment provider to try the service with. It charges whoever comes with a link of the shop's,
 * writes every charge down, and tells the shop by signed events, with faults as often as it is asked
 * for. With --replay it sends what was lost once more, and ends. Wiring alone: pay/payd_*.c.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json_file.h"
#include "base/programs.h"
#include "common/flags.h"
#include "common/secret.h"
#include "common/std_streams.h"
#include "pay/payd_http.h"

enum { EXIT_DONE = 0, EXIT_CANNOT_RUN = 1, EXIT_BAD_WORDS = 2, LOOK_EVERY_MS = 50 };

struct arguments {
    const char *listen, *webhook, *key_file, *log, *replay;
    struct payd_faults faults;
    char key[SECRET_SIZE];
    char lost[RUN_PATH_MAX];
};

static const char help_head[] =
    "payd --webhook URL --key FILE [--listen HOST:PORT] [--log FILE] [--seed N] [FAULTS]\n"
    "payd --webhook URL --key FILE --replay FILE [--log FILE]\n"
    "\n"
    "A payment provider to try the service with: it charges who comes with a link of the shop's,\n"
    "and tells the shop by signed events; again for 30 s while there is no answer, or 5xx.\n"
    "\n";

static const char help_tail[] =
    "\nExit status: 0 Ctrl-C, or everything was sent; 1 it could not run, or some of --replay was\n"
    "not taken; 2 bad flag.\n";

static bool check(struct arguments *arguments, struct failure *failure)
{
    const char *webhook = arguments->webhook;

    if (!webhook || !arguments->key_file)
        return failure_set(failure, "--webhook and --key are needed (try --help)");
    if (strncmp(webhook, "http://", 7) != 0 && strncmp(webhook, "https://", 8) != 0)
        return failure_set(failure, "--webhook: \"%s\" is no http:// URL", webhook);
    if (arguments->log)
        (void)snprintf(arguments->lost, sizeof arguments->lost, "%.1000s.lost", arguments->log);
    return secret_read_line("--key", arguments->key_file, arguments->key, failure);
}

static bool take_fault(const struct flag *flag, void *to, const char *value,
                       struct failure *failure)
{
    struct arguments *arguments = to;

    return payd_faults_take(flag, &arguments->faults, value, failure);
}

#define AT(field) offsetof(struct arguments, field)
#define FAULT_FLAG(fault, name, ms, words)                                                         \
    {name, FLAG_TAKEN, fault, .value = (ms) ? "X[:MS]" : "X", .help = (words), .take = take_fault},

static const struct flag flags[] = {
    {"listen", FLAG_TEXT, AT(listen), .value = "HOST:PORT",
     .help = "where buyers pay (127.0.0.1:0)"},
    {"webhook", FLAG_TEXT, AT(webhook), .value = "URL",
     .help = "of the shop: .../api/v1/payments/events"},
    {"key", FLAG_TEXT, AT(key_file), .value = "FILE",
     .help = "the secret shared with the shop, the first line of the file"},
    {"log", FLAG_TEXT, AT(log), .value = "FILE",
     .help = "append a line of JSON about each charge and each answer of the shop;\n"
             "events that could not be delivered go to FILE.lost"},
    {"seed", FLAG_NUMBER, AT(faults.seed), 0, INT64_MAX, "N", .help = "of the faults (1)"},
    {"replay", FLAG_TEXT, AT(replay), .value = "FILE", .help = "send the events of FILE, and end"},
    {"help", FLAG_HELP, .help = "this text"},
    {"version", FLAG_VERSION, .help = "the version"},
    {.help = "\nFaults, each a share of the payments, from 0 to 1:"},
    PAYD_FAULT_LIST(FAULT_FLAG)};

static const struct flags command_line = {
    .program = "payd",
    .head = help_head,
    .tail = help_tail,
    .list = flags,
    .count = sizeof flags / sizeof *flags,
    .column = 19,
};

static bool open_file(const char *path, FILE **out_file, struct failure *failure)
{
    *out_file = path[0] ? fopen(path, "ae") : NULL;
    return *out_file || !path[0] ||
           failure_set(failure, "--log: %s: %s", path, failure_errno_text());
}

static bool serve(const struct arguments *arguments, struct payd_post *post, FILE *log,
                  struct failure *failure)
{
    struct payd_charges *charges = payd_charges_new(&arguments->faults, post, log);
    struct payd_http *http =
        charges ? payd_http_open(arguments->listen, arguments->key, charges, failure) : NULL;
    char url[PAYD_URL_MAX];

    if (http) {
        payd_http_url(http, arguments->listen, url);
        (void)printf("payd: %s, webhook %s, seed %llu\n", url, arguments->webhook,
                     (unsigned long long)arguments->faults.seed);
        (void)fflush(stdout);
        while (!interrupt_came())
            clock_sleep_ms(LOOK_EVERY_MS);
    }
    payd_http_close(http);
    payd_charges_free(charges);
    return http != NULL || failure_set(failure, "out of memory");
}

static bool send_again(void *arg, json_t *line, struct failure *why)
{
    (void)why;
    payd_post_send(arg, json_incref(line), PAYD_WHOLE, 0);
    return true;
}

static bool replay(const struct arguments *arguments, struct payd_post *post,
                   struct failure *failure)
{
    if (!json_file_read_lines(arguments->replay, send_again, post, failure)) return false;
    size_t lost = payd_post_drain(post);
    return lost == 0 || failure_set(failure, "%zu events could not be delivered", lost);
}

static int run(const struct arguments *arguments, struct failure *failure)
{
    struct payd_post_plan plan = {.webhook = arguments->webhook, .key = arguments->key};
    struct payd_post *post = NULL;
    const char *lost = arguments->replay ? "" : arguments->lost;

    bool is_done = open_file(arguments->log ? arguments->log : "", &plan.log, failure) &&
                   open_file(lost, &plan.lost, failure) && (post = payd_post_open(&plan, failure));
    if (is_done)
        is_done = arguments->replay ? replay(arguments, post, failure)
                                    : serve(arguments, post, plan.log, failure);
    payd_post_close(post);
    if (plan.log && (ferror(plan.log) | fclose(plan.log)) != 0)
        is_done = failure_set(failure, "--log: %s could not be written", arguments->log);
    if (plan.lost) is_done = fclose(plan.lost) == 0 && is_done;
    return is_done ? EXIT_DONE : EXIT_CANNOT_RUN;
}

int main(int argc, char **argv)
{
    static struct arguments arguments = {.listen = "127.0.0.1:0", .faults = {.seed = 1}};
    struct failure failure = {.text = ""};

    std_streams_open();
    int status = flags_main(&command_line, argc, argv, &arguments);
    if (status >= 0) return status;
    status = EXIT_BAD_WORDS;
    if (check(&arguments, &failure)) {
        interrupt_watch();
        status = run(&arguments, &failure);
    }
    if (status != EXIT_DONE) (void)fprintf(stderr, "payd: %s\n", failure.text);
    return status;
}
