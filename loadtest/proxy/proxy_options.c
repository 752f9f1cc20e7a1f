/*
 * The table of flags; links are taken by functions of their own. One thread.
 */
#include "proxy_options.h"

#include <stddef.h>
#include <string.h>

#include "common/flags.h"

/* Options while they are read. */
struct reading {
    struct proxy_options options;
    bool is_half; /* --listen was given, its --to was not */
};

static bool add_link(struct reading *reading, const char *name, size_t length,
                     struct failure *failure)
{
    struct proxy_options *options = &reading->options;

    if (!proxy_name_is_valid(name, length))
        return failure_set(failure,
                           "--link: \"%s\" does not begin with NAME= ([A-Za-z0-9_-], 1 to %d)",
                           name, PROXY_NAME_MAX - 1);
    if (options->link_count == PROXY_LINKS_MAX)
        return failure_set(failure, "more than %d links", PROXY_LINKS_MAX);
    struct proxy_link_plan *plan = &options->links[options->link_count];
    (void)snprintf(plan->name, sizeof plan->name, "%.*s", (int)length, name);
    for (size_t i = 0; i < options->link_count; i++)
        if (strcmp(options->links[i].name, plan->name) == 0)
            return failure_set(failure, "two links are named \"%s\"", plan->name);
    options->link_count++;
    return true;
}

static bool read_address(const struct flag *flag, const char *text, struct proxy_address *address,
                         struct failure *failure)
{
    struct failure why = {.text = ""};
    return proxy_address_parse(address, text, &why) ||
           failure_set(failure, "--%s: %.300s", flag->name, why.text);
}

static bool take_listen(const struct flag *flag, void *to, const char *value,
                        struct failure *failure)
{
    struct reading *reading = to;
    struct proxy_options *options = &reading->options;
    char name[PROXY_NAME_MAX];

    if (reading->is_half) return failure_set(failure, "--listen: give its --to first");
    int length = snprintf(name, sizeof name, "link%zu", options->link_count + 1);
    reading->is_half = true;
    return add_link(reading, name, (size_t)length, failure) &&
           read_address(flag, value, &options->links[options->link_count - 1].listen_at, failure);
}

static bool take_to(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct reading *reading = to;
    struct proxy_options *options = &reading->options;

    if (!reading->is_half) return failure_set(failure, "--to: goes behind its --listen");
    reading->is_half = false;
    return read_address(flag, value, &options->links[options->link_count - 1].server, failure);
}

static bool take_link(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct reading *reading = to;
    struct proxy_options *options = &reading->options;
    char listen_at[PROXY_ADDRESS_TEXT_MAX];
    size_t name = strcspn(value, "=");
    const char *comma = strchr(value, ',');

    if (value[name] != '=' || !comma || comma < value + name ||
        (size_t)(comma - value) - name > sizeof listen_at)
        return failure_set(failure, "--link: \"%s\" is not NAME=LISTEN,TO", value);
    if (reading->is_half) return failure_set(failure, "--listen: give its --to first");
    (void)snprintf(listen_at, sizeof listen_at, "%.*s", (int)(comma - value - (ptrdiff_t)name - 1),
                   value + name + 1);
    if (!add_link(reading, value, name, failure)) return false;
    struct proxy_link_plan *plan = &options->links[options->link_count - 1];
    return read_address(flag, listen_at, &plan->listen_at, failure) &&
           read_address(flag, comma + 1, &plan->server, failure);
}

#define AT(field) offsetof(struct reading, options.field)

static const struct flag flags[] = {
    {"listen", FLAG_TAKEN, .value = "ADDR", .take = take_listen,
     .help = "a link: listen here (port 0: a free one) ..."},
    {"to", FLAG_TAKEN, .value = "ADDR", .take = take_to,
     .help = "... and connect to there; links are named link1, link2, ..."},
    {"link", FLAG_TAKEN, .value = "NAME=ADDR,ADDR", .take = take_link,
     .help = "the same in one flag, with a name"},
    {"control", FLAG_TEXT, AT(control), .value = "PATH", .help = "take verbs on this unix socket"},
    {"schedule", FLAG_TEXT, AT(schedule), .value = "FILE",
     .help = "lines \"AFTER_MS VERB\" and \"every MIN..MAX VERB\""},
    {"seed", FLAG_NUMBER, AT(seed), 0, INT64_MAX, "N", .help = "of schedule and jitter (1)"},
    {"log", FLAG_TEXT, AT(log), .value = "FILE",
     .help = "append a JSON line for each verb and each eaten reply"},
    {"help", FLAG_HELP, .help = "this text"},
    {"version", FLAG_VERSION, .help = "the version"},
};

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

static const struct flags command_line = {
    .program = "proxy",
    .head = help_head,
    .tail = help_middle,
    .list = flags,
    .count = sizeof flags / sizeof *flags,
    .column = 22,
};

bool proxy_options_parse(int argc, char **argv, struct proxy_options *out_options,
                         struct failure *failure)
{
    struct reading reading = {.options = {.seed = 1}};
    flags_answer answer = flags_read(&command_line, argc, argv, &reading, failure);

    if (answer == FLAGS_BAD) return false;
    reading.options.is_help = answer == FLAGS_HELP;
    reading.options.is_version = answer == FLAGS_VERSION;
    if (reading.is_half) return failure_set(failure, "--listen: its --to is missing");
    if (!reading.options.link_count && answer == FLAGS_READ)
        return failure_set(failure, "no link: give --listen and --to (try --help)");
    *out_options = reading.options;
    return true;
}

void proxy_options_help(FILE *to)
{
    flags_help(&command_line, to);
    proxy_command_help(to);
    (void)fputs(help_tail, to);
}
