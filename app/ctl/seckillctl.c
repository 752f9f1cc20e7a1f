/*
 * seckillctl: the operator's command. Words and flags are read here; each group of commands has a
 * file: ctl_sale.c asks a seckilld, ctl_book.c the book and Redis, ctl_token.c and ctl_lab.c ask nobody. One thread.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/std_streams.h"
#include "ctl.h"
#include "lab/lab.h"
#include "start/private_server.h"

struct flag {
    const char *name;
    size_t offset; /* of a const char * in struct ctl_request */
};

static const struct flag flags[] = {
    {"--admin", offsetof(struct ctl_request, admin)},
    {"--admin-token", offsetof(struct ctl_request, token_file)},
    {"--stock", offsetof(struct ctl_request, stock)},
    {"--title", offsetof(struct ctl_request, title)},
    {"--starts", offsetof(struct ctl_request, starts)},
    {"--ends", offsetof(struct ctl_request, ends)},
    {"--guard", offsetof(struct ctl_request, guard)},
    {"--units", offsetof(struct ctl_request, units)},
    {"--payment", offsetof(struct ctl_request, payment)},
    {"--admit", offsetof(struct ctl_request, admit)},
    {"--segments", offsetof(struct ctl_request, segments)},
    {"--state", offsetof(struct ctl_request, state)},
    {"--key", offsetof(struct ctl_request, key)},
    {"--sub", offsetof(struct ctl_request, sub)},
    {"--ttl", offsetof(struct ctl_request, ttl)},
    {"--count", offsetof(struct ctl_request, count)},
    {"--from-seed", offsetof(struct ctl_request, seed)},
    {"--prefix", offsetof(struct ctl_request, prefix)},
    {"--out", offsetof(struct ctl_request, out)},
    {"--now", offsetof(struct ctl_request, now)},
    {"--lang", offsetof(struct ctl_request, lang)},
    {"--program", offsetof(struct ctl_request, program)},
    {"--exercise", offsetof(struct ctl_request, exercise)},
    {"--schedule", offsetof(struct ctl_request, schedule)},
    {"--actors", offsetof(struct ctl_request, actors)},
    {"--faults", offsetof(struct ctl_request, faults)},
    {"--depth", offsetof(struct ctl_request, depth)},
    {"--kinds", offsetof(struct ctl_request, kinds)},
    {"--seconds", offsetof(struct ctl_request, seconds)},
    {"--format", offsetof(struct ctl_request, format)},
    {"--before", offsetof(struct ctl_request, before)},
};

static const char common_help[] =
    "  --admin URL          the service's admin address [http://127.0.0.1:8081] (SECKILL_ADMIN)\n"
    "  --admin-token FILE   its bearer token [seckill-data/admin.token, else\n"
    "                       /var/lib/seckill/admin.token] (SECKILL_ADMIN_TOKEN)\n"
    "  --book URL, --book-password FILE, --redis URL, --redis-password FILE, --redis-loader FILE,\n"
    "  --sentinel-password FILE, --redis-ca FILE, --redis-cert FILE, --redis-key FILE,\n"
    "  --redis-server-name NAME, --redis-insecure\n"
    "                       the book, postgres://..., and the Redis of the sales: as of seckilld,\n"
    "                       which explains them; likewise SECKILL_BOOK and so on\n"
    "  --json               print the service's answer as it is\n"
    "  --help               this text\n"
    "Exit: 0 done, 1 refused, 2 wrong usage, 3 the service was not reached.\n";

static const struct command {
    const char *group;
    const char *name; /* NULL: the group is the command */
    bool has_id;
    int (*run)(const struct ctl_request *request); /* NULL: it is one call... */
    const char *help;
    const char *action; /* ...with this behind the sale's address */
    struct ctl_call call;
} commands[] = {
    {"sale", "create", true, ctl_sale_create,
     .help =
         "sale create ID --stock N [--title TEXT] [--starts TIME] [--ends TIME] [--guard NAME]\n"
         "            [--payment AMOUNT:CURRENCY:SECONDS] [--admit N[:draw]] [--segments N]\n"
         "  Put units up for sale. TIME is 2026-11-20T10:00:00+08:00, \"2026-11-20 10:00\" by the "
         "clock "
         "here, a\n"
         "  date, or +SECONDS from now. With --payment an order is held for so long and is paid by "
         "then; AMOUNT is in the minor unit. "
         "With\n"
         "  --admit it has a waiting room that lets in N buyers a second, in the order of arrival; "
         "with\n"
         "  :draw those who come before the start by lot. With --segments it is cut into so many, "
         "which a\n"
         "  cluster's servers sell side by side.\n"},
    {"sale", "list", false, ctl_sale_list, .help = "sale list\n  All sales.\n"},
    {"sale", "show", true, NULL, .help = "sale show ID\n  One sale.\n", .action = ""},
    {"sale", "edit", true, ctl_sale_edit,
     .help = "sale edit ID [--title TEXT] [--starts TIME] [--ends TIME|none] [--admit N]\n"
             "  Change a sale that has not ended; --starts only before it has started.\n"},
    {"sale", "restock", true, ctl_sale_restock,
     .help =
         "sale restock ID --units N [--key KEY]\n"
         "  Put N more units up, for sale a moment later. Under one KEY (a random one without it) "
         "that\n"
         "  happens once, however often it is asked for.\n"},
    {"sale", "pause", true, NULL, .help = "sale pause ID\n  Sell nothing until it is resumed.\n",
     .action = "/pause", .call = {.body = ""}},
    {"sale", "resume", true, NULL, .help = "sale resume ID\n  Go on with a paused sale.\n",
     .action = "/resume", .call = {.body = ""}},
    {"sale", "end", true, NULL, .help = "sale end ID\n  End a sale for good.\n", .action = "/end",
     .call = {.body = ""}},
    {"sale", "remove", true, NULL,
     .help =
         "sale remove ID\n"
         "  Take a sale that is over out of Redis: its orders are final, no refund is open, the "
         "book\n"
         "  has all of it. There it is kept as ID@NUMBER.\n",
     .action = "", .call = {.method = "DELETE"}},
    {"sale", "archive", true, ctl_sale_archive,
     .help = "sale archive ID --out FILE\n"
             "  The same, once all of it is in FILE, one JSON object per line, and on the disk.\n"},
    {"sale", "audit", true, NULL,
     .help = "sale audit ID\n"
             "  What the service itself says of its books (the program audit asks Redis, not the "
             "service).\n"
             "  Exit 1 unless every check passed.\n",
     .action = "/audit"},
    {"sale", "orders", true, NULL,
     .help = "sale orders ID\n  All orders, one JSON object per line.\n", .action = "/orders",
     .call = {.is_list = true}},
    {"sale", "refunds", true, NULL,
     .help = "sale refunds ID\n  Money that is owed back, one JSON object per line.\n",
     .action = "/refunds", .call = {.is_list = true}},
    {"sale", "refund", true, ctl_sale_refund,
     .help = "sale refund ID --payment PAYMENT --state sent|done\n"
             "  Note how far a refund is.\n"},
    {"sale", "rebuild", true, ctl_book_rebuild,
     .help = "sale rebuild ID|--all --book URL --redis URL\n"
             "  Make a sale again, of which Redis has forgotten something, from the book in "
             "PostgreSQL.\n"
             "  Exit 1 when something could not stand, and the sale stays paused.\n"},
    {"orders", "export", true, ctl_book_export,
     .help = "orders export ID [--format csv|ndjson] --book URL\n"
             "  All orders of a sale, as the book has them, by their ids.\n"},
    {"book", "drop", false, ctl_book_drop,
     .help = "book drop --before TIME --book URL\n"
             "  Delete what the book has of sales that were removed and had ended by then.\n"},
    {"audit", NULL, false, ctl_book_audit,
     .help = "audit --book URL --redis URL\n"
             "  Compare Redis and the book, both ways, each order and entry of every sale in it.\n"
             "  Exit 1 unless all agree.\n"},
    {"token", NULL, false, ctl_token,
     .help =
         "token --key FILE (--sub BUYER | --count N --from-seed N [--prefix TEXT]) [--out FILE]\n"
         "      [--ttl SECONDS] [--now TIME]\n"
         "  A buyer's bearer token, good for 3600 s or --ttl; or N lines \"BUYER TOKEN\" with "
         "buyers\n"
         "  TEXT-16 hex digits [buyer]. The same seed, key, ttl and --now give the same lines.\n"},
    {"buyer", NULL, false, ctl_buyer,
     .help = "buyer --sub SUBJECT\n"
             "  What orders, logs and audit call the buyer whom a token names SUBJECT.\n"},
    {"key", NULL, false, ctl_key,
     .help = "key --out FILE\n"
             "  Make a random key for tokens; seckilld takes it as --token-key.\n"},
    {"lab", "list", false, ctl_lab_list,
     .help = "lab list [--lang LANG]\n"
             "  The scenarios of the lock lab, and what each must come to.\n"},
    {"lab", "run", true, ctl_lab_run,
     .help =
         "lab run NAME|all [--lang LANG]\n"
         "  Play a scenario on a Redis of its own, and show its timeline. LANG is en or zh [en].\n"
         "  Exit 1 unless every verdict is the expected one.\n"},
    {"lab", "play", true, ctl_lab_play,
     .help = "lab play GUARD|--program COMMAND [--exercise NAME] [--schedule TEXT] [--actors N]\n"
             "         [--units N] [--lang LANG]\n"
             "  You are the scheduler: play a guard, or a program of yours, by a choice after the "
             "other. A lets\n"
             "  actor A go on by one exchange with Redis, t ends the lease, a kills it; the manual "
             "has the others.\n"
             "  Without a schedule choices are read, a line each; undo takes the last one back.\n"
             "  Exit 1 when a choice was not enabled.\n"},
    {"lab", "explore", true, ctl_lab_explore,
     .help =
         "lab explore GUARD|all|--program COMMAND [--exercise NAME|all] [--actors N] [--units N]\n"
         "            [--faults N] [--kinds LETTERS] [--depth N] [--seconds N] [--all] [--lang "
         "LANG]\n"
         "  Search all schedules for the shortest that breaks a promise; with --all, each "
         "promise.\n"
         "  COMMAND buys one unit by what LAB_REDIS_URL and its like tell, and prints one line,\n"
         "  {\"result\":\"sold|sold-out|already|busy|unknown\"}. With --exercise it is judged by "
         "that task,\n"
         "  all: lock, release, fence, one after the other.\n"
         "  Exit 0 there is none within the bounds, 1 found, 2 not finished, 3 a play went "
         "wrong.\n"},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* All commands, those of a group, or one: NULL fits all. */
static int print_help(FILE *out, const char *group, const char *name)
{
    (void)fputs("Usage: seckillctl COMMAND [FLAG...]\n\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (group && strcmp(commands[i].group, group) != 0) continue;
        if (name && commands[i].name && strcmp(commands[i].name, name) != 0) continue;
        (void)fputs(commands[i].help, out);
    }
    (void)fprintf(out, "\n%s", common_help);
    return out == stdout ? CTL_OK : CTL_USAGE;
}

static const struct command *find_command(const char *group, const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *wanted = commands[i].name;

        if (strcmp(commands[i].group, group) != 0) continue;
        if (wanted ? name && strcmp(wanted, name) == 0 : !name) return &commands[i];
    }
    return NULL;
}

static const struct flag *find_flag(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strlen(flags[i].name) == len && strncmp(flags[i].name, name, len) == 0)
            return &flags[i];
    }
    return NULL;
}

/* argv[*at] is a flag; takes its value along. */
static int read_flag(int argc, char **argv, int *at, struct ctl_request *out)
{
    const char *arg = argv[*at];
    const char *equals = strchr(arg, '=');
    const struct flag *flag = find_flag(arg, equals ? (size_t)(equals - arg) : strlen(arg));
    const char *value = equals ? equals + 1 : NULL;
    struct start_error why = {0};
    void *field = NULL;

    if (strcmp(arg, "--json") == 0 || strcmp(arg, "--all") == 0) {
        *(arg[2] == 'a' ? &out->is_all : &out->is_json) = true;
        return CTL_OK;
    }
    if (!flag)
        return config_read_flag(&(struct config_source){argc, argv, .of_servers = true}, at,
                                &out->servers, &why)
                   ? CTL_OK
                   : ctl_complain("%s", why.text);
    if (!value && *at + 1 < argc) value = argv[++*at];
    if (!value) return ctl_complain("%s: a value is missing", arg);
    field = (char *)out + flag->offset;
    *(const char **)field = value;
    return CTL_OK;
}

/* Up to three words (sale create ID); the rest are flags. */
static int read_arguments(int argc, char **argv, const char *words[3], struct ctl_request *out)
{
    size_t count = 0;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (read_flag(argc, argv, &i, out) != CTL_OK) return CTL_USAGE;
        } else if (count < 3) {
            words[count++] = argv[i];
        } else {
            return ctl_complain("\"%s\" is one word too many", argv[i]);
        }
    }
    return CTL_OK;
}

static const char *env_or(const char *name, const char *fallback)
{
    const char *value = secure_getenv(name);

    return value && *value ? value : fallback;
}

/* Of a seckilld that was started here, else of the systemd unit's. */
static const char *usual_token(void)
{
    static const char here[] = "seckill-data/admin.token";
    static const char of_unit[] = "/var/lib/seckill/admin.token";

    return access(here, F_OK) != 0 && access(of_unit, F_OK) == 0 ? of_unit : here;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return true;
    }
    return false;
}

static int print_asked_help(int argc, char **argv)
{
    const char *group = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    const char *name = group && argc > 2 && argv[2][0] != '-' ? argv[2] : NULL;

    return print_help(stdout, group, name);
}

int main(int argc, char **argv)
{
    struct ctl_request request = {
        .admin = env_or("SECKILL_ADMIN", "http://127.0.0.1:8081"),
        .token_file = env_or("SECKILL_ADMIN_TOKEN", usual_token()),
    };
    const char *words[3] = {NULL};
    const struct command *command = NULL;
    struct start_error why = {0};

    std_streams_open();
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return CTL_USAGE;
    if (asks_for_help(argc, argv)) return print_asked_help(argc, argv);
    if (!config_read_environment(&(struct config_source){.of_servers = true}, &request.servers,
                                 &why))
        return ctl_complain("%s", why.text);
    if (read_arguments(argc, argv, words, &request) != CTL_OK) return CTL_USAGE;
    if (!words[0]) return print_help(stderr, NULL, NULL);
    command = find_command(words[0], words[1]);
    if (!command && !words[1]) return print_help(stderr, words[0], NULL);
    if (!command) return ctl_complain("\"%s\" is no command; --help lists them", words[1]);
    if (command->has_id != (words[2] || request.is_all || request.program))
        return ctl_complain("usage: seckillctl %s", command->help);
    request.id = words[2] ? words[2] : "all";
    return command->run ? command->run(&request)
                        : ctl_sale_call(&request, command->action, command->call);
}
