/*
 * Tables of commands and flags, and the words that go with them. One thread.
 */
#include "arguments.h"

#include <stddef.h>
#include <string.h>

#include "common/flags.h"
#include "common/suggest.h"
#include "kinds.h"

enum {
    GRACE_MS = 5000,
    SPAN_MOST_MS = 2147483647,
    HELP_COLUMN = 22,
};

static bool take_on_lost(const struct flag *flag, void *to, const char *value,
                         struct failure *failure)
{
    static const char *const words[] = {"term", "kill", "ignore"};
    struct ctl_request *request = to;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(value, words[i]) != 0) continue;
        request->on_lost = (ctl_on_lost)i;
        return true;
    }
    return failure_set(failure, "--%s: \"%s\" is not term, kill or ignore", flag->name, value);
}

/* "KIND:NAME" or "NAME". What stands before a colon and is near a kind is taken for one that is misspelt; else the colon
   is the name's. */
static bool read_lock(const char *text, struct ctl_request *out, struct failure *failure)
{
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    struct suggestion near = {.said = text, .said_len = len, .distance = SUGGEST_FAR};

    if (out->name)
        return failure_set(failure, "--lock: one lock only; \"%.200s\" is a second one", text);
    out->name = colon ? colon + 1 : text;
    out->kind = colon ? kinds_find(text, len) : NULL;
    if (out->kind || !colon) {
        return *out->name || failure_set(failure, "--lock: \"%.200s\" has no name", text);
    }
    for (size_t i = 0; kinds_at(i); i++)
        suggest_consider(&near, kinds_at(i)->name);
    if (near.word)
        return failure_set(failure,
                           "--lock: \"%.*s\" is no kind of lock; did you mean %s:%.100s? The mutex "
                           "of this name is mutex:%.100s",
                           (int)len, text, near.word, out->name, text);
    out->name = text;
    return true;
}

static bool take_lock(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    (void)flag;
    return read_lock(value, to, failure);
}

static bool add_url(const char *url, struct ctl_request *out, struct failure *failure)
{
    if (out->url_count == CTL_URLS_MAX)
        return failure_set(failure, "--redis: more than %d servers", CTL_URLS_MAX);
    out->urls[out->url_count++] = url;
    return true;
}

static bool take_url(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    (void)flag;
    return add_url(value, to, failure);
}

#define AT(field) offsetof(struct ctl_request, field)

/* Rows that several commands have. */
#define ROW_SERVER(words)                                                                          \
    {                                                                                              \
        "redis", FLAG_TAKEN, .value = "URL", .take = take_url, .help = (words)                     \
    }
#define ROW_ON                                                                                     \
    {                                                                                              \
        "on", FLAG_TAKEN,                                                                          \
            .value = "URL", .take = take_url,                                                      \
            .help = "the same; also postgres://USER@HOST/DATABASE, zookeeper://HOST,HOST/PATH"     \
    }
#define ROW_FILE(name, field, words)                                                               \
    {                                                                                              \
        name, FLAG_TEXT, AT(field), .value = "FILE", .help = (words)                               \
    }
#define ROWS_LOGIN                                                                                 \
    ROW_FILE("redis-password", password_file, "its first line is the password of the URL's user"), \
        ROW_FILE("redis-loader", loader_file,                                                      \
                 "its first line is USER:PASSWORD of who may load scripts"),                       \
        ROW_FILE("sentinel-password", sentinel_file,                                               \
                 "its first line is [USER:]PASSWORD of the Sentinels"),                            \
        ROW_FILE("redis-ca", tls.ca_file,                                                          \
                 "who signs servers' certificates, of rediss:// [the system's]"),                  \
        ROW_FILE("redis-cert", tls.cert_file, "our certificate [none]"),                           \
        ROW_FILE("redis-key", tls.key_file, "its key [in --redis-cert]"),                          \
        {"redis-server-name", FLAG_TEXT, AT(tls.server_name), .value = "NAME",                     \
         .help = "whose certificates are accepted [the host's]"},                                  \
    {                                                                                              \
        "redis-insecure", FLAG_SWITCH, AT(tls.is_unverified), .help = "accept any certificate"     \
    }
#define ROWS_SERVER                                                                                \
    ROW_SERVER("server; again for more [redis://127.0.0.1:6379]"), ROW_ON, ROWS_LOGIN
#define ROWS_SERVERS                                                                               \
    ROW_SERVER("server; several for a redlock [redis://127.0.0.1:6379]"), ROW_ON, ROWS_LOGIN
#define ROW_SPAN(name, field, words)                                                               \
    {                                                                                              \
        name, FLAG_SPAN, AT(field), 0, SPAN_MOST_MS, "MS", .help = (words)                         \
    }
#define ROW_SWITCH(name, field, words)                                                             \
    {                                                                                              \
        name, FLAG_SWITCH, AT(field), .help = (words)                                              \
    }
#define ROW_JSON ROW_SWITCH("json", is_json, "one JSON object per lock and line")
#define ROW_HELP                                                                                   \
    {                                                                                              \
        "help", .kind = FLAG_HELP                                                                  \
    }

static const struct flag run_flags[] = {
    {"lock", FLAG_TAKEN, .value = "KIND:NAME", .take = take_lock,
     .help = "what to hold; NAME alone is a mutex, also with colons: job:nightly"},
    ROW_SPAN("wait", wait_ms, "how long to wait for it; 0: try once [forever]"),
    ROW_SPAN("lease", lease_ms, "it ends this long after the last renewal [30000]"),
    ROW_SWITCH("no-renew", is_not_renewed, "it ends with the lease, whatever the command does"),
    ROW_SPAN("at-least", at_least_ms,
             "held so long, also when the command ends sooner; then its lease is cut [0]"),
    {"on-lost", FLAG_TAKEN, .value = "WHAT", .take = take_on_lost,
     .help = "when it ends before the command: term, kill or ignore [term]"},
    ROW_SPAN("grace", grace_ms,
             "from term to kill; and for a server that does not take the lock back yet [5000]"),
    {"permits", FLAG_NUMBER, AT(permits), 1, SPAN_MOST_MS, "N",
     .help = "set up so many, where there are none (permits, semaphore)"},
    ROWS_SERVERS,
    ROW_SWITCH("verbose", is_verbose, "say what goes on"),
    ROW_HELP};
static const struct flag lead_flags[] = {
    ROW_SPAN("lease", lease_ms, "when a leader dies, nobody leads for so long [30000]"),
    ROW_SPAN("grace", grace_ms, "from TERM to KILL, after a loss; and to give it back [5000]"),
    ROWS_SERVERS, ROW_SWITCH("verbose", is_verbose, "say what goes on"), ROW_HELP};
static const struct flag inspect_flags[] = {ROWS_SERVER, ROW_JSON, ROW_HELP};
static const struct flag list_flags[] = {
    {"match", FLAG_TEXT, AT(match), .value = "GLOB",
     .help = "only names like this, such as 'job:*'"},
    ROW_SWITCH("all", has_numbers,
               "also numbers, which may be semaphores, latches or just numbers"),
    ROWS_SERVER,
    ROW_JSON,
    ROW_HELP};
static const struct flag break_flags[] = {ROW_SWITCH("yes", is_confirmed, "do not ask"),
                                          ROWS_SERVER, ROW_HELP};

/* clang-format off */
#define FLAGS(rows) {.head = "", .list = (rows), .count = sizeof (rows) / sizeof (rows)[0], .column = HELP_COLUMN}
/* clang-format on */

struct arguments_command {
    const char *name;
    const char *usage;
    const char *idea;
    struct flags flags;
    bool has_name;    /* a lock's name */
    bool has_command; /* everything from the first word on */
    int (*run)(const struct ctl_request *request);
};

static const struct arguments_command commands[] = {
    {"run", "run --lock KIND:NAME [FLAG...] -- COMMAND [ARG...]",
     "Hold a lock while a command runs.", FLAGS(run_flags), false, true, ctl_run},
    {"lead", "lead [KIND:]NAME [FLAG...] -- COMMAND [ARG...]",
     "Run a command while elected: by a fenced lock, or of several servers a redlock.",
     FLAGS(lead_flags), true, true, ctl_lead},
    {"inspect", "inspect NAME [FLAG...]", "Tell who holds a lock, who waits, and for how long.",
     FLAGS(inspect_flags), true, false, ctl_inspect},
    {"list", "list [FLAG...]", "List what looks like a lock, one per line.", FLAGS(list_flags),
     false, false, ctl_list},
    {"break", "break NAME [FLAG...]", "Take a lock away from whoever holds it.", FLAGS(break_flags),
     true, false, ctl_break},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* ---- words ----------------------------------------------------------------------------------- */

static bool take_word(const char *word, struct arguments *out, struct failure *failure)
{
    if (!out->command->has_name || out->request.name)
        return failure_set(failure, "\"%.200s\" is one word too many; usage: lockctl %s", word,
                           out->command->usage);
    if (!*word) return failure_set(failure, "a name has at least one byte");
    if (out->command->has_command) return read_lock(word, &out->request, failure);
    out->request.name = word;
    return true;
}

/* The words behind the command's. Flags end at "--", and of run at the command to run. */
static bool read_words(int argc, char **argv, struct arguments *out, struct failure *failure)
{
    struct flag_words words = {argc, argv, 2};
    bool has_flags = true;
    bool is_good = true;

    while (words.at < argc && is_good && !out->is_help) {
        char *word = argv[words.at];

        if (has_flags && strcmp(word, "--") == 0) {
            has_flags = false;
            words.at++;
        } else if (has_flags && word[0] == '-' && word[1]) {
            flags_answer answer =
                flags_read_one(&out->command->flags, &words, &out->request, failure);

            out->is_help = answer == FLAGS_HELP;
            is_good = answer != FLAGS_BAD;
        } else if (out->command->has_command && (!has_flags || !out->command->has_name)) {
            out->request.command = argv + words.at;
            return true;
        } else {
            is_good = take_word(argv[words.at++], out, failure);
        }
    }
    return is_good;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool find_command(const char *name, const struct arguments_command **out,
                         struct failure *failure)
{
    struct suggestion near = {.said = name, .said_len = strlen(name), .distance = SUGGEST_FAR};

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        suggest_consider(&near, commands[i].name);
        if (strcmp(commands[i].name, name) != 0) continue;
        *out = &commands[i];
        return true;
    }
    if (near.word)
        return failure_set(failure, "%.200s: no such command; did you mean %s?", name, near.word);
    return failure_set(failure, "%.200s: no such command; lockctl --help lists them", name);
}

static bool choose_kind(const struct arguments_command *command, struct ctl_request *request,
                        struct failure *failure)
{
    bool is_several = request->url_count > 1;
    const char *usual = is_several ? "redlock" : command->has_name ? "fenced" : "mutex";

    if (!request->name)
        return failure_set(failure, "%sKIND:NAME is missing", command->has_name ? "" : "--lock ");
    if (!request->command) return failure_set(failure, "the command to run is missing");
    if (!request->kind) request->kind = kinds_find(usual, strlen(usual));
    if (request->kind->is_redlock && !is_several)
        return failure_set(failure,
                           "a redlock needs several servers: --redis URL for each of them");
    if (request->at_least_ms > 0 && request->kind->has_no_end)
        return failure_set(failure, "--at-least: the end of a hold of a %s cannot be set",
                           request->kind->name);
    if (is_several && !request->kind->is_redlock)
        return failure_set(failure, "%s is a lock of one server; of several, redlock is",
                           request->kind->name);
    if (request->permits > 0 && !request->kind->has_permits)
        return failure_set(failure, "--permits goes with permits:NAME and semaphore:NAME");
    return true;
}

static bool read_servers(char *servers, struct ctl_request *request, struct failure *failure)
{
    char *rest = NULL;
    bool is_good = true;

    if (request->url_count > 0) return true; /* --redis wins */
    for (char *url = servers ? strtok_r(servers, " \t\n", &rest) : NULL; url && is_good;
         url = strtok_r(NULL, " \t\n", &rest))
        is_good = add_url(url, request, failure);
    return is_good && (request->url_count > 0 || add_url(NULL, request, failure));
}

static bool check(char *servers, struct arguments *out, struct failure *failure)
{
    if (!read_servers(servers, &out->request, failure)) return false;
    if (out->command->has_command) return choose_kind(out->command, &out->request, failure);
    return !out->command->has_name || out->request.name ||
           failure_set(failure, "the lock's name is missing; usage: lockctl %s",
                       out->command->usage);
}

int arguments_parse(int argc, char **argv, char *servers, struct arguments *out)
{
    struct failure failure = {.text = ""};
    char shown[1024];

    *out = (struct arguments){.request = {.wait_ms = CTL_FOREVER, .grace_ms = GRACE_MS}};
    if (argc < 2) return CTL_OK;
    out->is_help = strcmp(argv[1], "--help") == 0;
    out->is_version = strcmp(argv[1], "--version") == 0;
    if (out->is_help || out->is_version ||
        (find_command(argv[1], &out->command, &failure) && read_words(argc, argv, out, &failure) &&
         (out->is_help || check(servers, out, &failure))))
        return CTL_OK;
    ctl_escape(failure.text, shown, sizeof shown);
    return ctl_complain("%s", shown);
}

int arguments_run(const struct arguments *arguments)
{
    return arguments->command->run(&arguments->request);
}

/* ---- help ------------------------------------------------------------------------------------ */

static void print_row(FILE *to, const char *name, const char *text)
{
    (void)fprintf(to, "  %-*s %s\n", HELP_COLUMN, name, text);
}

static void print_command(FILE *to, const struct arguments_command *command)
{
    (void)fprintf(to, "%s\n  %s\n", command->usage, command->idea);
    flags_help(&command->flags, to);
    if (!command->has_command || command->has_name) return; /* once: those of run */
    (void)fputs("Kinds:\n", to);
    for (size_t i = 0; kinds_at(i); i++)
        print_row(to, kinds_at(i)->name, kinds_at(i)->idea);
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
    print_row(to, "--help", "this text; after a command, that of the command");
    if (!command) print_row(to, "--version", "name and version");
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
