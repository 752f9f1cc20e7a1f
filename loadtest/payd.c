/*
 * payd: a payment provider to try the service with. It charges whoever comes with a link of the shop's,
 * writes every charge down, and tells the shop by signed events, with faults as often as it is asked
 * for. With --replay it sends what was lost once more, and ends. Wiring alone: pay/payd_*.c.
 */
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/json_file.h"
#include "base/moment.h"
#include "base/programs.h"
#include "common/secret.h"
#include "common/streams.h"
#include "pay/payd_door.h"

enum { EXIT_DONE = 0, EXIT_CANNOT_RUN = 1, EXIT_BAD_WORDS = 2, LOOK_EVERY_MS = 50 };

struct arguments {
    const char *listen, *webhook, *key_file, *log, *replay;
    struct payd_faults faults;
    char key[SECRET_SIZE];
    char lost[RUN_PATH_MAX];
};

static const char help_text[] =
    "payd --webhook URL --key FILE [--listen HOST:PORT] [--log FILE] [--seed N] [FAULTS]\n"
    "payd --webhook URL --key FILE --replay FILE [--log FILE]\n"
    "\n"
    "A payment provider to try the service with: it charges who comes with a link of the shop's,\n"
    "and tells the shop by signed events; again for 30 s while there is no answer, or 5xx.\n"
    "\n"
    "  --listen HOST:PORT  where buyers pay (127.0.0.1:0)\n"
    "  --webhook URL       of the shop: .../api/v1/payments/events\n"
    "  --key FILE          the secret shared with the shop, the first line of the file\n"
    "  --log FILE          append a line of JSON about each charge and each answer of the shop;\n"
    "                      events that could not be delivered go to FILE.lost\n"
    "  --seed N            of the faults (1)\n"
    "  --replay FILE       send the events of FILE, and end\n"
    "  --version, --help\n"
    "\nFaults, each a share of the payments, from 0 to 1:\n";

static const char help_tail[] =
    "\nExit status: 0 Ctrl-C, or everything was sent; 1 it could not run, or some of --replay was\n"
    "not taken; 2 bad flag.\n";

static void print_help(void)
{
    (void)fputs(help_text, stdout);
    for (int i = 0; i < PAYD_FAULT_COUNT; i++) {
        const struct payd_fault_words *words = &payd_faults_words[i];
        char left[32];
        (void)snprintf(left, sizeof left, "--%s X%s", words->flag, words->ms ? "[:MS]" : "");
        (void)printf("  %-19s %s\n", left, words->help);
    }
    (void)fputs(help_tail, stdout);
}

static bool read_seed(const char *text, uint64_t *out_seed, struct failure *failure)
{
    char *end = NULL;

    *out_seed = strtoull(text, &end, 10);
    return (*text >= '0' && *text <= '9' && !*end) ||
           failure_set(failure, "--seed: \"%s\" is not a number", text);
}

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

/* Of a text: where it goes to; of a fault: which. */
#define TEXT_AT(field) (TEXT + (int)offsetof(struct arguments, field))
enum { TEXT = 1000, FAULT = 2000, TEXT_FLAGS = 8 };
_Static_assert(offsetof(struct arguments, faults) < FAULT - TEXT, "places and faults overlap");

static bool take_option(int option, struct arguments *arguments, struct failure *failure)
{
    if (option == 's') return read_seed(optarg, &arguments->faults.seed, failure);
    if (option >= FAULT)
        return payd_faults_read(&arguments->faults, (payd_fault)(option - FAULT), optarg, failure);
    if (option < TEXT) return failure_set(failure, "try --help");
    *(const char **)(void *)((char *)arguments + option - TEXT) = optarg;
    return true;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments, struct failure *failure)
{
    struct option options[TEXT_FLAGS + PAYD_FAULT_COUNT + 1] = {
        {"listen", required_argument, NULL, TEXT_AT(listen)},
        {"webhook", required_argument, NULL, TEXT_AT(webhook)},
        {"key", required_argument, NULL, TEXT_AT(key_file)},
        {"log", required_argument, NULL, TEXT_AT(log)},
        {"replay", required_argument, NULL, TEXT_AT(replay)},
        {"seed", required_argument, NULL, 's'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
    };
    bool is_good = true;

    for (int i = 0; i < PAYD_FAULT_COUNT; i++)
        options[TEXT_FLAGS + i] =
            (struct option){payd_faults_words[i].flag, required_argument, NULL, FAULT + i};
    while (is_good) {
        /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
        int option = getopt_long(argc, argv, "+", options, NULL);
        if (option == -1) break;
        if (option == 'h') print_help();
        if (option == 'v') (void)printf("payd %s\n", SECKILL_VERSION);
        if (option == 'h' || option == 'v')
            return fflush(stdout) == 0 ? EXIT_DONE : EXIT_CANNOT_RUN;
        is_good = take_option(option, arguments, failure);
    }
    if (is_good && optind < argc)
        is_good = failure_set(failure, "do not know what to do with %s", argv[optind]);
    return is_good && check(arguments, failure) ? -1 : EXIT_BAD_WORDS;
}

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
    struct payd_door *door =
        charges ? payd_door_open(arguments->listen, arguments->key, charges, failure) : NULL;
    char url[PAYD_URL_MAX];

    if (door) {
        payd_door_url(door, arguments->listen, url);
        (void)printf("payd: %s, webhook %s, seed %llu\n", url, arguments->webhook,
                     (unsigned long long)arguments->faults.seed);
        (void)fflush(stdout);
        while (!interrupt_came())
            moment_sleep_ms(LOOK_EVERY_MS);
    }
    payd_door_close(door);
    payd_charges_free(charges);
    return door != NULL || failure_set(failure, "out of memory");
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

    streams_open();
    int status = parse(argc, argv, &arguments, &failure);
    if (status < 0) {
        interrupt_watch();
        status = run(&arguments, &failure);
    }
    if (status != EXIT_DONE) (void)fprintf(stderr, "payd: %s\n", failure.text);
    return status;
}
