/*
 * Flags are rows of a table; each row has a function that takes its value. One thread.
 */
#include "proxy_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Options while they are read. */
struct reading {
    struct proxy_options options;
    bool is_half; /* --listen was given, its --to was not */
    struct failure *failure;
};

static bool add_link(struct reading *reading, const char *name, size_t length)
{
    struct proxy_options *options = &reading->options;

    if (!proxy_name_is_valid(name, length))
        return failure_set(reading->failure,
                           "--link: \"%s\" does not begin with NAME= ([A-Za-z0-9_-], 1 to %d)",
                           name, PROXY_NAME_MAX - 1);
    if (options->link_count == PROXY_LINKS_MAX)
        return failure_set(reading->failure, "more than %d links", PROXY_LINKS_MAX);
    struct proxy_link_plan *plan = &options->links[options->link_count];
    (void)snprintf(plan->name, sizeof plan->name, "%.*s", (int)length, name);
    for (size_t i = 0; i < options->link_count; i++)
        if (strcmp(options->links[i].name, plan->name) == 0)
            return failure_set(reading->failure, "two links are named \"%s\"", plan->name);
    options->link_count++;
    return true;
}

static bool read_address(struct reading *reading, const char *flag, const char *text,
                         struct proxy_address *address)
{
    struct failure why = {.text = ""};
    return proxy_address_parse(address, text, &why) ||
           failure_set(reading->failure, "--%s: %.300s", flag, why.text);
}

static bool take_listen(struct reading *reading, const char *value)
{
    struct proxy_options *options = &reading->options;
    char name[PROXY_NAME_MAX];

    if (reading->is_half) return failure_set(reading->failure, "--listen: give its --to first");
    int length = snprintf(name, sizeof name, "link%zu", options->link_count + 1);
    reading->is_half = true;
    return add_link(reading, name, (size_t)length) &&
           read_address(reading, "listen", value,
                        &options->links[options->link_count - 1].listen_at);
}

static bool take_to(struct reading *reading, const char *value)
{
    struct proxy_options *options = &reading->options;

    if (!reading->is_half) return failure_set(reading->failure, "--to: goes behind its --listen");
    reading->is_half = false;
    return read_address(reading, "to", value, &options->links[options->link_count - 1].server);
}

static bool take_link(struct reading *reading, const char *value)
{
    struct proxy_options *options = &reading->options;
    char listen_at[PROXY_ADDRESS_TEXT_MAX];
    size_t name = strcspn(value, "=");
    const char *comma = strchr(value, ',');

    if (value[name] != '=' || !comma || comma < value + name ||
        (size_t)(comma - value) - name > sizeof listen_at)
        return failure_set(reading->failure, "--link: \"%s\" is not NAME=LISTEN,TO", value);
    if (reading->is_half) return failure_set(reading->failure, "--listen: give its --to first");
    (void)snprintf(listen_at, sizeof listen_at, "%.*s", (int)(comma - value - (ptrdiff_t)name - 1),
                   value + name + 1);
    if (!add_link(reading, value, name)) return false;
    struct proxy_link_plan *plan = &options->links[options->link_count - 1];
    return read_address(reading, "link", listen_at, &plan->listen_at) &&
           read_address(reading, "link", comma + 1, &plan->server);
}

static bool take_seed(struct reading *reading, const char *value)
{
    char *end = NULL;

    errno = 0;
    unsigned long long seed = strtoull(value, &end, 10);
    if (errno || strspn(value, "0123456789") == 0 || *end || seed > INT64_MAX)
        return failure_set(reading->failure, "--seed: \"%s\" is not a number from 0 to %lld", value,
                           (long long)INT64_MAX);
    reading->options.seed = seed;
    return true;
}

#define FIELD(name) NULL, offsetof(struct proxy_options, name)

static const struct flag {
    const char *name;
    const char *value;                                        /* NULL: a switch */
    bool (*take)(struct reading *reading, const char *value); /* NULL: it goes to a field */
    size_t offset;
    const char *help;
} flags[] = {
    {"listen", "ADDR", take_listen, 0, "a link: listen here (port 0: a free one) ..."},
    {"to", "ADDR", take_to, 0, "... and connect to there; links are named link1, link2, ..."},
    {"link", "NAME=ADDR,ADDR", take_link, 0, "the same in one flag, with a name"},
    {"control", "PATH", FIELD(control), "take verbs on this unix socket"},
    {"schedule", "FILE", FIELD(schedule), "lines \"AFTER_MS VERB\" and \"every MIN..MAX VERB\""},
    {"seed", "N", take_seed, 0, "of schedule and jitter (1)"},
    {"log", "FILE", FIELD(log), "append a JSON line for each verb and each eaten reply"},
    {"help", NULL, FIELD(is_help), "this text"},
    {"version", NULL, FIELD(is_version), "the version"},
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags };

static const struct flag *find_flag(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (strlen(flags[i].name) == length && strncmp(flags[i].name, name, length) == 0)
            return &flags[i];
    return NULL;
}

/* A switch, or a text. */
static bool fill(struct reading *reading, const struct flag *flag, const char *value)
{
    char *field = (char *)&reading->options + flag->offset;

    if (value && !*value) return failure_set(reading->failure, "--%s: is empty", flag->name);
    if (value)
        *(const char **)(void *)field = value;
    else
        *(bool *)field = true;
    return true;
}

static bool take_word(int argc, char **argv, int *at, struct reading *reading)
{
    const char *word = argv[*at];

    if (strncmp(word, "--", 2) != 0 || !word[2])
        return failure_set(reading->failure, "do not know what to do with \"%s\" (try --help)",
                           word);
    size_t length = strcspn(word + 2, "=");
    const struct flag *flag = find_flag(word + 2, length);
    if (!flag) return failure_set(reading->failure, "no flag \"%s\" (try --help)", word);
    const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
    if (!flag->value && value)
        return failure_set(reading->failure, "--%s: takes no value", flag->name);
    if (flag->value && !value && *at + 1 < argc) value = argv[++*at];
    if (flag->value && !value)
        return failure_set(reading->failure, "--%s: the value is missing", flag->name);
    return flag->take ? flag->take(reading, value) : fill(reading, flag, value);
}

bool proxy_options_parse(int argc, char **argv, struct proxy_options *out_options,
                         struct failure *failure)
{
    struct reading reading = {.options = {.seed = 1}, .failure = failure};

    for (int at = 1; at < argc; at++)
        if (!take_word(argc, argv, &at, &reading)) return false;
    if (reading.is_half) return failure_set(failure, "--listen: its --to is missing");
    if (!reading.options.link_count && !reading.options.is_help && !reading.options.is_version)
        return failure_set(failure, "no link: give --listen and --to (try --help)");
    *out_options = reading.options;
    return true;
}

static const char help_head[] =
    "proxy --listen ADDR --to ADDR [FLAGS]\n"
    "proxy ctl PATH [LINK:]VERB [ARGUMENT...]\n"
    "\n"
    "Stand between clients and a server, and break the connection on command. ADDR is HOST:PORT\n"
    "or unix:///path. The second form sends a verb to the control socket of a running proxy.\n\n";

static const char help_middle[] = "\nVerbs, for one link or for all; faults add up until `pass`:\n";

static const char help_tail[] =
    "\nPrints one line with the real ports when it is ready; SIGTERM ends it.\n"
    "Exit status: 0 ended by a signal, or the verb was carried out; 1 it could not run, or the\n"
    "verb was refused; 2 bad flag, schedule or verb.\n";

void proxy_options_help(FILE *to)
{
    (void)fputs(help_head, to);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        char left[40];
        (void)snprintf(left, sizeof left, "--%s %s", flags[i].name,
                       flags[i].value ? flags[i].value : "");
        (void)fprintf(to, "  %-22s %s\n", left, flags[i].help);
    }
    (void)fputs(help_middle, to);
    proxy_command_help(to);
    (void)fputs(help_tail, to);
}
