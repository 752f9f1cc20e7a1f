/*
 * Tables of commands and flags, and the words that go with them. One thread.
 */
#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "suggest.h"

enum {
    GRACE_MS = 5000,
    SPAN_MOST_MS = 2147483647,
    NAME_SHOWN = 200,
    HELP_COLUMN = 24,
};

typedef enum flag_kind {
    FLAG_SWITCH, /* a bool */
    FLAG_TEXT,   /* a const char * */
    FLAG_SPAN,   /* an int64_t of ms */
    FLAG_NUMBER, /* an int64_t */
    FLAG_LOCK,
    FLAG_ON_LOST,
    FLAG_URL,
} flag_kind;

struct flag {
    const char *name;
    const char *value; /* its word in the help; NULL: it takes none */
    flag_kind kind;
    size_t offset; /* in struct ctl_request */
    const char *help;
};

#define FIELD(name) offsetof(struct ctl_request, name)

/* Rows that several commands have. */
#define ROW_ON                                                                                     \
    {                                                                                              \
        "--on", "URL", FLAG_URL, 0,                                                                \
            "the same; also postgres://USER@HOST/DATABASE, zookeeper://HOST,HOST/PATH"             \
    }
#define ROW_REDIS                                                                                  \
    {"--redis", "URL", FLAG_URL, 0, "server; again for more [redis://127.0.0.1:6379]"}, ROW_ON
#define ROWS_LOGIN                                                                                 \
    {"--redis-password", "FILE", FLAG_TEXT, FIELD(password_file),                                  \
     "its first line is the password of the URL's user"},                                          \
        {"--redis-loader", "FILE", FLAG_TEXT, FIELD(loader_file),                                  \
         "its first line is USER:PASSWORD of who may load scripts"},                               \
        {"--sentinel-password", "FILE", FLAG_TEXT, FIELD(sentinel_file),                           \
         "its first line is [USER:]PASSWORD of the Sentinels"},                                    \
        {"--redis-ca", "FILE", FLAG_TEXT, FIELD(tls.ca_file),                                      \
         "who signs servers' certificates, of rediss:// [the system's]"},                          \
        {"--redis-cert", "FILE", FLAG_TEXT, FIELD(tls.cert_file), "our certificate [none]"},       \
        {"--redis-key", "FILE", FLAG_TEXT, FIELD(tls.key_file), "its key [in --redis-cert]"},      \
        {"--redis-server-name", "NAME", FLAG_TEXT, FIELD(tls.server_name),                         \
         "whose certificates are accepted [the host's]"},                                          \
    {                                                                                              \
        "--redis-insecure", NULL, FLAG_SWITCH, FIELD(tls.is_unverified), "accept any certificate"  \
    }
#define ROW_JSON                                                                                   \
    {                                                                                              \
        "--json", NULL, FLAG_SWITCH, FIELD(is_json), "one JSON object per lock and line"           \
    }

static const struct flag run_flags[] = {
    {"--lock", "KIND:NAME", FLAG_LOCK, 0, "what to hold; NAME alone, without colon, is a mutex"},
    {"--wait", "MS", FLAG_SPAN, FIELD(wait_ms), "how long to wait for it; 0: try once [forever]"},
    {"--lease", "MS", FLAG_SPAN, FIELD(lease_ms),
     "it ends this long after the last renewal [30000]"},
    {"--no-renew", NULL, FLAG_SWITCH, FIELD(is_not_renewed),
     "it ends with the lease, whatever the command does"},
    {"--at-least", "MS", FLAG_SPAN, FIELD(at_least_ms),
     "held so long, also when the command ends sooner; then its lease is cut [0]"},
    {"--on-lost", "WHAT", FLAG_ON_LOST, 0,
     "when it ends before the command: term, kill or ignore [term]"},
    {"--grace", "MS", FLAG_SPAN, FIELD(grace_ms),
     "from term to kill; and for a server that does not take the lock back yet [5000]"},
    {"--permits", "N", FLAG_NUMBER, FIELD(permits),
     "set up so many, where there are none (permits, semaphore)"},
    {"--redis", "URL", FLAG_URL, 0, "server; several for a redlock [redis://127.0.0.1:6379]"},
    ROW_ON,
    ROWS_LOGIN,
    {"--verbose", NULL, FLAG_SWITCH, FIELD(is_verbose), "say what goes on"},
    {0}};
static const struct flag lead_flags[] = {
    {"--lease", "MS", FLAG_SPAN, FIELD(lease_ms),
     "when a leader dies, nobody leads for so long [30000]"},
    {"--grace", "MS", FLAG_SPAN, FIELD(grace_ms),
     "from TERM to KILL, after a loss; and to give it back [5000]"},
    {"--redis", "URL", FLAG_URL, 0, "server; several for a redlock [redis://127.0.0.1:6379]"},
    ROW_ON,
    ROWS_LOGIN,
    {"--verbose", NULL, FLAG_SWITCH, FIELD(is_verbose), "say what goes on"},
    {0}};
static const struct flag inspect_flags[] = {ROW_REDIS, ROWS_LOGIN, ROW_JSON, {0}};
static const struct flag list_flags[] = {
    {"--match", "GLOB", FLAG_TEXT, FIELD(match), "only names like this, such as 'job:*'"},
    {"--all", NULL, FLAG_SWITCH, FIELD(has_numbers),
     "also numbers, which may be semaphores, latches or just numbers"},
    ROW_REDIS,
    ROWS_LOGIN,
    ROW_JSON,
    {0}};
static const struct flag break_flags[] = {
    {"--yes", NULL, FLAG_SWITCH, FIELD(is_confirmed), "do not ask"}, ROW_REDIS, ROWS_LOGIN, {0}};

struct arguments_command {
    const char *name;
    const char *usage;
    const char *idea;
    const struct flag *flags;
    bool has_name;    /* a lock's name */
    bool has_command; /* everything from the first word on */
    int (*run)(const struct ctl_request *request);
};

static const struct arguments_command commands[] = {
    {"run", "run --lock KIND:NAME [FLAG...] -- COMMAND [ARG...]",
     "Hold a lock while a command runs.", run_flags, false, true, ctl_run},
    {"lead", "lead [KIND:]NAME [FLAG...] -- COMMAND [ARG...]",
     "Run a command while elected: by a fenced lock, or of several servers a redlock.", lead_flags,
     true, true, ctl_lead},
    {"inspect", "inspect NAME [FLAG...]", "Tell who holds a lock, who waits, and for how long.",
     inspect_flags, true, false, ctl_inspect},
    {"list", "list [FLAG...]", "List what looks like a lock, one per line.", list_flags, false,
     false, ctl_list},
    {"break", "break NAME [FLAG...]", "Take a lock away from whoever holds it.", break_flags, true,
     false, ctl_break},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* ---- values ---------------------------------------------------------------------------------- */

/* Digits, and a unit if units are allowed; false: it is none, or more than `most`. */
static bool read_number(const char *text, bool has_units, int64_t most, int64_t *out)
{
    static const struct {
        const char *name;
        int64_t factor;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    char *end = NULL;

    if (!isdigit((unsigned char)*text)) return false;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno) return false;
    for (size_t i = 0; i < (has_units ? sizeof units / sizeof units[0] : 1); i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        if (number > most / units[i].factor) return false;
        *out = number * units[i].factor;
        return true;
    }
    return false;
}

static int read_on_lost(const char *text, ctl_on_lost *out)
{
    static const char *const words[] = {"term", "kill", "ignore"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = (ctl_on_lost)i;
        return CTL_OK;
    }
    return ctl_complain("--on-lost: \"%s\" is not term, kill or ignore", text);
}

/* "KIND:NAME" or "NAME". A name with a colon needs its kind, so that no new kind changes its sense. */
static int read_lock(const char *text, struct ctl_request *out)
{
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    struct suggestion near = {.said = text, .said_len = len, .distance = SUGGEST_FAR};
    char shown[NAME_SHOWN];

    ctl_escape(text, shown, sizeof shown);
    if (out->name) return ctl_complain("--lock: one lock only; \"%s\" is a second one", shown);
    out->name = colon ? colon + 1 : text;
    out->kind = colon ? kinds_find(text, len) : NULL;
    if (!*out->name) return ctl_complain("--lock: \"%s\" has no name", shown);
    if (out->kind || !colon) return CTL_OK;
    for (size_t i = 0; kinds_at(i); i++)
        suggest_consider(&near, kinds_at(i)->name);
    if (near.word)
        return ctl_complain("--lock: \"%.*s\" is no kind of lock; did you mean %s:%.100s?",
                            (int)len, text, near.word, out->name);
    return ctl_complain("--lock: \"%s\" begins with no kind of lock (lockctl run --help lists "
                        "them); if it is the name of a mutex, write mutex:%.100s",
                        shown, shown);
}

static int add_url(const char *url, struct ctl_request *out)
{
    if (out->url_count == CTL_URLS_MAX)
        return ctl_complain("--redis: more than %d servers", CTL_URLS_MAX);
    out->urls[out->url_count++] = url;
    return CTL_OK;
}

static int set_number(const struct flag *flag, const char *value, int64_t *out)
{
    bool is_span = flag->kind == FLAG_SPAN;

    if (read_number(value, is_span, SPAN_MOST_MS, out) && (is_span || *out > 0)) return CTL_OK;
    if (is_span)
        return ctl_complain("%s: \"%s\" is no time like 500, 500ms, 30s, 5m or 2h, at most 24 days",
                            flag->name, value);
    return ctl_complain("%s: \"%s\" is not a number from 1 to %d", flag->name, value, SPAN_MOST_MS);
}

static int set_flag(const struct flag *flag, const char *value, struct ctl_request *out)
{
    void *field = (char *)out + flag->offset;

    switch (flag->kind) {
    case FLAG_SWITCH:
        *(bool *)field = true;
        return CTL_OK;
    case FLAG_TEXT:
        *(const char **)field = value;
        return CTL_OK;
    case FLAG_SPAN:
    case FLAG_NUMBER:
        return set_number(flag, value, field);
    case FLAG_LOCK:
        return read_lock(value, out);
    case FLAG_ON_LOST:
        return read_on_lost(value, &out->on_lost);
    case FLAG_URL:
        break;
    }
    return add_url(value, out);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct flag *find_flag(const struct flag *flags, const char *name, size_t len)
{
    for (const struct flag *flag = flags; flag->name; flag++)
        if (strlen(flag->name) == len && memcmp(flag->name, name, len) == 0) return flag;
    return NULL;
}

static int refuse_flag(const struct arguments_command *command, const char *arg, size_t len)
{
    struct suggestion near = {.said = arg, .said_len = len, .distance = SUGGEST_FAR};
    char shown[NAME_SHOWN];

    for (const struct flag *flag = command->flags; flag->name; flag++)
        suggest_consider(&near, flag->name);
    ctl_escape(arg, shown, sizeof shown);
    shown[len < sizeof shown ? len : sizeof shown - 1] = '\0'; /* a value may be a password */
    if (near.word) return ctl_complain("%s: no such flag; did you mean %s?", shown, near.word);
    return ctl_complain("%s: no such flag; lockctl %s --help lists them", shown, command->name);
}

/* argv[*at] is a flag; takes its value along. */
static int read_flag(int argc, char **argv, int *at, struct arguments *out)
{
    const char *arg = argv[*at];
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    const struct flag *flag = find_flag(out->command->flags, arg, len);
    const char *value = equals ? equals + 1 : NULL;

    if (strcmp(arg, "--help") == 0) {
        out->is_help = true;
        return CTL_OK;
    }
    if (!flag) return refuse_flag(out->command, arg, len);
    if (!flag->value)
        return value ? ctl_complain("%s takes no value", flag->name)
                     : set_flag(flag, "", &out->request);
    if (!value && *at + 1 < argc) value = argv[++*at];
    if (!value) return ctl_complain("%s: a value is missing", flag->name);
    return set_flag(flag, value, &out->request);
}

static int take_word(char *word, struct arguments *out)
{
    char shown[NAME_SHOWN];

    ctl_escape(word, shown, sizeof shown);
    if (!out->command->has_name || out->request.name)
        return ctl_complain("\"%s\" is one word too many; usage: lockctl %s", shown,
                            out->command->usage);
    if (!*word) return ctl_complain("a name has at least one byte");
    if (out->command->has_command) return read_lock(word, &out->request);
    out->request.name = word;
    return CTL_OK;
}

/* The words behind the command's. Flags end at "--", and of run at the command to run. */
static int read_words(int argc, char **argv, struct arguments *out)
{
    bool has_flags = true;
    int status = CTL_OK;

    for (int i = 2; i < argc && status == CTL_OK && !out->is_help; i++) {
        if (has_flags && strcmp(argv[i], "--") == 0) {
            has_flags = false;
        } else if (has_flags && argv[i][0] == '-' && argv[i][1]) {
            status = read_flag(argc, argv, &i, out);
        } else if (out->command->has_command && (!has_flags || !out->command->has_name)) {
            out->request.command = argv + i;
            return CTL_OK;
        } else {
            status = take_word(argv[i], out);
        }
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int find_command(const char *name, const struct arguments_command **out)
{
    struct suggestion near = {.said = name, .said_len = strlen(name), .distance = SUGGEST_FAR};
    char shown[NAME_SHOWN];

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        suggest_consider(&near, commands[i].name);
        if (strcmp(commands[i].name, name) != 0) continue;
        *out = &commands[i];
        return CTL_OK;
    }
    ctl_escape(name, shown, sizeof shown);
    if (near.word) return ctl_complain("%s: no such command; did you mean %s?", shown, near.word);
    return ctl_complain("%s: no such command; lockctl --help lists them", shown);
}

static int choose_kind(const struct arguments_command *command, struct ctl_request *request)
{
    bool is_several = request->url_count > 1;
    const char *usual = is_several ? "redlock" : command->has_name ? "fenced" : "mutex";

    if (!request->name)
        return ctl_complain("%sKIND:NAME is missing", command->has_name ? "" : "--lock ");
    if (!request->command) return ctl_complain("the command to run is missing");
    if (!request->kind) request->kind = kinds_find(usual, strlen(usual));
    if (request->kind->is_redlock && !is_several)
        return ctl_complain("a redlock needs several servers: --redis URL for each of them");
    if (request->at_least_ms > 0 && request->kind->has_no_end)
        return ctl_complain("--at-least: the end of a hold of a %s cannot be set",
                            request->kind->name);
    if (is_several && !request->kind->is_redlock)
        return ctl_complain("%s is a lock of one server; of several, redlock is",
                            request->kind->name);
    if (request->permits > 0 && !request->kind->has_permits)
        return ctl_complain("--permits goes with permits:NAME and semaphore:NAME");
    return CTL_OK;
}

static int read_servers(char *servers, struct ctl_request *request)
{
    char *rest = NULL;
    int status = CTL_OK;

    if (request->url_count > 0) return CTL_OK; /* --redis wins */
    for (char *url = servers ? strtok_r(servers, " \t\n", &rest) : NULL; url && status == CTL_OK;
         url = strtok_r(NULL, " \t\n", &rest))
        status = add_url(url, request);
    if (status == CTL_OK && request->url_count == 0) status = add_url(NULL, request);
    return status;
}

int arguments_parse(int argc, char **argv, char *servers, struct arguments *out)
{
    *out = (struct arguments){.request = {.wait_ms = CTL_FOREVER, .grace_ms = GRACE_MS}};
    if (argc < 2) return CTL_OK;
    out->is_help = strcmp(argv[1], "--help") == 0;
    out->is_version = strcmp(argv[1], "--version") == 0;
    if (out->is_help || out->is_version) return CTL_OK;
    int status = find_command(argv[1], &out->command);
    if (status == CTL_OK) status = read_words(argc, argv, out);
    if (status != CTL_OK || out->is_help) return status;
    status = read_servers(servers, &out->request);
    if (status == CTL_OK && out->command->has_command)
        status = choose_kind(out->command, &out->request);
    if (status == CTL_OK && out->command->has_name && !out->request.name)
        status = ctl_complain("the lock's name is missing; usage: lockctl %s", out->command->usage);
    return status;
}

int arguments_run(const struct arguments *arguments)
{
    return arguments->command->run(&arguments->request);
}

/* ---- help ------------------------------------------------------------------------------------ */

static void print_row(FILE *to, const char *name, const char *value, const char *text)
{
    int len = fprintf(to, "  %s%s%s", name, value ? " " : "", value ? value : "");

    (void)fprintf(to, "%*s %s\n", len < HELP_COLUMN ? HELP_COLUMN - len : 1, "", text);
}

static void print_command(FILE *to, const struct arguments_command *command)
{
    (void)fprintf(to, "%s\n  %s\n", command->usage, command->idea);
    for (const struct flag *flag = command->flags; flag->name; flag++)
        print_row(to, flag->name, flag->value, flag->help);
    if (!command->has_command || command->has_name) return; /* once: those of run */
    (void)fputs("Kinds:\n", to);
    for (size_t i = 0; kinds_at(i); i++)
        print_row(to, kinds_at(i)->name, NULL, kinds_at(i)->idea);
}

void arguments_print_help(FILE *to, const struct arguments_command *command)
{
    (void)fputs("Usage: lockctl COMMAND [FLAG...]\n", to);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (command && command != &commands[i]) continue;
        (void)fputs("\n", to);
        print_command(to, &commands[i]);
    }
    (void)fputs("\nOf every command:\n", to);
    print_row(to, "--help", NULL, "this text; after a command, that of the command");
    if (!command) print_row(to, "--version", NULL, "name and version");
    (void)fputs(
        "\n"
        "MS may have a unit: 500ms, 30s, 5m, 2h. LOCKCTL_REDIS stands for --redis; several "
        "servers\n"
        "  have blanks between them. With --redis-password the URL has a user alone: "
        "redis://me@host.\n"
        "Exit: 64 wrong usage, 65 no lock, 69 no server or no answer, 70 refused by the server,\n"
        "  71 refused by the system; inspect, break: 1 nobody holds it; run: that of the command,\n"
        "  128+n if signal n ended it, 126 it cannot be run, 127 it is not found, 75 the lock was\n"
        "  not acquired in time, 76 it was lost meanwhile.\n",
        to);
}
