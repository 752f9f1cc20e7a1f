/*
 * audit: read a finished sale from Redis and the clients' ledgers, judge it, say so. No logic of
 * its own: ledger.c, client_log.c and operators_log.c read, audit.c judges. One thread.
 */
#include "audit/audit.h"

#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/secret.h"
#include "common/streams.h"
#include "evidence/charge_log.h"
#include "evidence/client_log.h"
#include "evidence/ledger.h"
#include "evidence/operators_log.h"

enum { EXIT_PASS = 0, EXIT_FAIL = 1, EXIT_UNUSABLE = 2, OPERATORS_MAX = 64 };

struct arguments {
    const char *redis;
    const char *redis_password, *sentinel_password; /* files, or NULL */
    struct lk_tls_options tls;
    const char *sale;
    const char *units; /* instead of the two */
    char **clients;    /* borrowed from argv */
    int client_count;
    const char *operators[OPERATORS_MAX]; /* logs */
    int operator_count;
    const char *charges; /* file, or NULL */
    struct audit_options strictness;
    bool is_json;
    bool has_clients;
};

static const char help_text[] =
    "audit --redis URL [--redis-...] --sale ID [--clients FILE...]\n"
    "      [--operators FILE]... [--charges FILE] [--allow-lost] [--json]\n"
    "audit --units N --clients FILE... [--json]\n"
    "\n"
    "Judge a finished sale by what Redis holds and what the clients wrote down; the service's own\n"
    "word counts for nothing. Prints one line per check: pass, fail or void (nothing to judge "
    "by).\n"
    "\n"
    "  --redis URL        redis://[user[:pass]@]host[:port][/db], unix:///path,\n"
    "                     redis+sentinel://h1,h2,h3/NAME or redis+cluster://h1,h2,h3; or one of\n"
    "                     these with rediss for redis: over TLS\n"
    "  --redis-password FILE\n"
    "                     password of the URL's user, the first line of the file. The user need\n"
    "                     only read\n"
    "  --sentinel-password FILE\n"
    "                     the first line is [USER:]PASSWORD of the Sentinels\n"
    "  --redis-ca FILE    PEM: who signs the certificates of rediss servers (the system's store)\n"
    "  --redis-cert FILE, --redis-key FILE\n"
    "                     PEM: the certificate to show them, and its key (in the same file)\n"
    "  --redis-server-name NAME\n"
    "                     what their certificates are for (the host of the URL)\n"
    "  --redis-insecure   accept any certificate of theirs\n"
    "  --sale ID          the sale\n"
    "  --units N          of a service that is not ours: judge by the clients alone whether the N\n"
    "                     units that were put up were sold as promised. What only a store can "
    "show\n"
    "                     is not judged: orders lost, orders that nobody asked for, locks left\n"
    "  --clients FILE...  what the clients wrote down, JSON lines, by our load test or another "
    "tool\n"
    "                     (the format: loadtest/GUIDE.md); without it the checks on answers are\n"
    "                     void. All words up to the next option are files\n"
    "  --operators FILE   an operators' log, of seckilld (DATA/operators.ndjson) or of loadtest; "
    "give\n"
    "                     that of every instance. Without one operators_agree is void: a restock\n"
    "                     that nobody asked for may hide an oversell\n"
    "  --charges FILE     the log of payd, for a sale that is paid for later: without it nobody "
    "knows\n"
    "                     what was charged, and payment_explained is void\n"
    "  --allow-lost       accepted orders that a failover lost are counted and named, not a "
    "failure;\n"
    "                     they excuse what follows from them, all else is judged as ever\n"
    "  --json             print one JSON object instead; in a file, report FILE draws it\n"
    "  --version, --help\n"
    "\n"
    "Exit status: 0 every check passed; 1 a promise is broken, and the output names it; 2 none\n"
    "failed but one is void, or the input could not be used: bad flag, Redis unreachable, no such\n"
    "sale, evidence that cannot be read or is not of the format (FILE:LINE and the field are "
    "named).\n";

static int usage(const char *words, const char *what)
{
    (void)fprintf(stderr, "audit: %s%s%s\n", words, what ? " " : "", what ? what : "");
    return EXIT_UNUSABLE;
}

/* Above all letters: a text, or a switch, that goes to the arguments at what is more. */
enum { TEXT = 1000, SWITCH = 2000 };

#define TEXT_AT(field)   (TEXT + (int)offsetof(struct arguments, field))
#define SWITCH_AT(field) (SWITCH + (int)offsetof(struct arguments, field))

_Static_assert(sizeof(struct arguments) < SWITCH - TEXT, "places of texts and switches overlap");

static const struct option options[] = {
    {"redis-password", required_argument, NULL, TEXT_AT(redis_password)},
    {"sentinel-password", required_argument, NULL, TEXT_AT(sentinel_password)},
    {"redis-ca", required_argument, NULL, TEXT_AT(tls.ca_file)},
    {"redis-cert", required_argument, NULL, TEXT_AT(tls.cert_file)},
    {"redis-key", required_argument, NULL, TEXT_AT(tls.key_file)},
    {"redis-server-name", required_argument, NULL, TEXT_AT(tls.server_name)},
    {"redis-insecure", no_argument, NULL, SWITCH_AT(tls.is_unverified)},
    {"redis", required_argument, NULL, TEXT_AT(redis)},
    {"sale", required_argument, NULL, TEXT_AT(sale)},
    {"units", required_argument, NULL, TEXT_AT(units)},
    {"clients", required_argument, NULL, 'c'},
    {"operators", required_argument, NULL, 'o'},
    {"charges", required_argument, NULL, TEXT_AT(charges)},
    {"allow-lost", no_argument, NULL, SWITCH_AT(strictness.allow_lost)},
    {"json", no_argument, NULL, SWITCH_AT(is_json)},
    {"version", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* --clients takes every word up to the next option. */
static int take_clients(int argc, char **argv, struct arguments *arguments)
{
    if (arguments->has_clients) return usage("--clients: give all files at once", NULL);
    arguments->has_clients = true;
    arguments->clients = argv + optind - 1;
    arguments->client_count = 1;
    while (optind < argc && argv[optind][0] != '-') {
        optind++;
        arguments->client_count++;
    }
    return -1;
}

/* -1: go on; else the exit status. */
static int take_option(int option, int argc, char **argv, struct arguments *arguments)
{
    char *fields = (char *)arguments;

    if (option >= SWITCH)
        *(bool *)(fields + option - SWITCH) = true;
    else if (option >= TEXT)
        *(const char **)(void *)(fields + option - TEXT) = optarg;
    else if (option == 'v')
        return printf("audit %s\n", SECKILL_VERSION) < 0 ? EXIT_UNUSABLE : EXIT_PASS;
    else if (option == 'h')
        return fputs(help_text, stdout) < 0 ? EXIT_UNUSABLE : EXIT_PASS;
    else if (option == 'c')
        return take_clients(argc, argv, arguments);
    else if (option != 'o')
        return usage("try --help", NULL);
    else if (arguments->operator_count++ < OPERATORS_MAX) /* one too many is told in gather() */
        arguments->operators[arguments->operator_count - 1] = optarg;
    return -1;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    int status = -1;

    while (status < 0) {
        /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
        int option = getopt_long(argc, argv, "+", options, NULL);
        if (option == -1) break;
        status = take_option(option, argc, argv, arguments);
    }
    if (status >= 0) return status;
    if (optind < argc) return usage("do not know what to do with", argv[optind]);
    if (arguments->units) {
        if (strspn(arguments->units, "0123456789") != strlen(arguments->units) ||
            strlen(arguments->units) - 1 >= 9)
            return usage("--units: must be a number up to 999999999, not", arguments->units);
        if (arguments->redis || arguments->sale)
            return usage("--units: not with --redis, --sale", NULL);
        return arguments->has_clients ? -1 : usage("--units: give --clients, too", NULL);
    }
    if (!arguments->redis) return usage("--redis is missing (try --help)", NULL);
    if (!arguments->sale) return usage("--sale is missing (try --help)", NULL);
    if (!ledger_sale_id_is_valid(arguments->sale))
        return usage("--sale: must match [a-z0-9-]{1,40}, not", arguments->sale);
    return -1;
}

static struct ledger *open_ledger(const struct arguments *arguments, struct failure *failure)
{
    const char *of_tls = ledger_tls_flag(&arguments->tls);
    char password[SECRET_SIZE] = "";
    char of_sentinels[SECRET_SIZE] = "";
    struct ledger_access access = {password, of_sentinels, arguments->tls};

    if (of_tls && !ledger_url_is_tls(arguments->redis)) {
        (void)failure_set(failure, "%s: goes with --redis rediss://...", of_tls);
        return NULL;
    }
    if (arguments->redis_password &&
        !secret_read_line("--redis-password", arguments->redis_password, password, failure))
        return NULL;
    if (arguments->sentinel_password &&
        !secret_read_line("--sentinel-password", arguments->sentinel_password, of_sentinels,
                          failure))
        return NULL;
    return ledger_open_with(arguments->redis, &access, failure);
}

static bool gather(const struct arguments *arguments, struct facts *facts, struct failure *failure)
{
    for (int i = 0; i < arguments->client_count; i++)
        if (!client_log_read(facts, arguments->clients[i], failure)) return false;
    if (arguments->units)
        return client_log_stand_in(facts, strtoll(arguments->units, NULL, 10), failure);
    if (arguments->operator_count > OPERATORS_MAX)
        return failure_set(failure, "--operators: at most %d files", OPERATORS_MAX);
    for (int i = 0; i < arguments->operator_count; i++)
        if (!operators_log_read(facts, arguments->sale, arguments->operators[i], failure))
            return false;
    if (arguments->charges && !charge_log_read(facts, arguments->sale, arguments->charges, failure))
        return false;
    struct ledger *ledger = open_ledger(arguments, failure);
    if (!ledger) return false;
    bool is_read = ledger_sale_read(ledger, arguments->sale, facts, failure);
    ledger_close(ledger);
    return is_read;
}

/* A clients' ledger may hold anything; the terminal gets none of it. */
static bool print_lost(const struct ask *ask, void *arg)
{
    char words[200];

    (void)arg;
    (void)snprintf(words, sizeof words, "%.40s of %.70s (%.70s)", ask->order, ask->buyer, ask->rid);
    for (char *at = words; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
    (void)printf("  lost: order %s\n", words);
    return true;
}

static void print_lines(const struct arguments *arguments, const struct facts *facts,
                        const struct audit_result *result)
{
    (void)printf("audit of %s%s\n", facts->is_alone ? "the clients' words alone" : "sale ",
                 facts->is_alone ? "" : arguments->sale);
    for (int i = 0; i < result->check_count; i++) {
        const struct audit_check *check = &result->checks[i];
        if (!check->name) continue;
        (void)printf("  %-4s  %-20s  %s\n", audit_verdict_name(check->verdict), check->name,
                     check->words);
    }
    audit_story_write(&result->story, stdout);
    if (facts->has_clients && !facts->is_alone)
        (void)printf("accepted orders lost: %zu of %zu\n", result->lost, result->accepted);
    (void)audit_each_lost(facts, print_lost, NULL, NULL); /* the count stands without them */
    for (int i = 0; i < result->check_count; i++)
        if (result->checks[i].verdict == AUDIT_VOID)
            (void)printf("could not be checked: %s\n", result->checks[i].claim);
    for (int i = 0; i < result->promise_count; i++)
        if (audit_promise_verdict(&promises[i], result) == AUDIT_FAIL)
            (void)printf("promise broken: %s\n", promises[i].text);
    (void)printf("%s\n", audit_verdict_name(result->verdict));
}

static bool add_lost(const struct ask *ask, void *arg)
{
    (void)json_array_append_new(
        arg, json_pack("{s:s,s:s,s:s}", "order", ask->order, "buyer", ask->buyer, "rid", ask->rid));
    return true;
}

static void print_json(const struct arguments *arguments, const struct facts *facts,
                       const struct audit_result *result)
{
    json_t *checks = json_object();
    json_t *lost = json_array();

    for (int i = 0; i < result->check_count; i++) {
        const struct audit_check *check = &result->checks[i];
        if (!check->name) continue;
        (void)json_object_set_new(checks, check->name,
                                  json_pack("{s:s,s:s}", "verdict",
                                            audit_verdict_name(check->verdict), "words",
                                            check->words));
    }
    (void)audit_each_lost(facts, add_lost, lost, NULL); /* the count stands without them */
    json_t *all = json_pack("{s:s,s:s?,s:s,s:I,s:o,s:o,s:o}", "mode", "audit", "sale",
                            arguments->sale, "verdict", audit_verdict_name(result->verdict),
                            "accepted", (json_int_t)result->accepted, "lost", lost, "checks",
                            checks, "story", audit_story_json(&result->story));
    (void)json_dumpf(all, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    json_decref(all);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.redis = NULL};
    struct audit_result result;
    struct failure failure = {.text = ""};
    struct facts facts;

    streams_open();
    int status = parse(argc, argv, &arguments);
    if (status >= 0) return status;
    (void)signal(SIGPIPE, SIG_IGN); /* a server that closes is told in words */
    facts_init(&facts);
    bool is_judged = gather(&arguments, &facts, &failure) &&
                     audit_run(&facts, &arguments.strictness, &result, &failure);
    if (is_judged && arguments.is_json)
        print_json(&arguments, &facts, &result);
    else if (is_judged)
        print_lines(&arguments, &facts, &result);
    else
        (void)fprintf(stderr, "audit: %s\n", failure.text);
    facts_done(&facts);
    if (fflush(stdout) != 0 || !is_judged) return EXIT_UNUSABLE;
    return result.verdict == AUDIT_PASS
               ? EXIT_PASS
               : (result.verdict == AUDIT_FAIL ? EXIT_FAIL : EXIT_UNUSABLE);
}
