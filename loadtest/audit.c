/*
 * audit: read a finished sale from Redis and the clients' ledgers, judge it, say so. No logic of
 * its own: ledger.c, client_log.c and operators_log.c read, audit.c judges. One thread.
 */
#include "audit/audit.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/flags.h"
#include "common/secret.h"
#include "common/std_streams.h"
#include "evidence/charge_log.h"
#include "evidence/client_log.h"
#include "evidence/ledger.h"
#include "evidence/operators_log.h"

enum { EXIT_PASS = 0, EXIT_FAIL = 1, EXIT_UNUSABLE = 2 };

struct arguments {
    const char *redis;
    const char *redis_password, *sentinel_password; /* files, or NULL */
    struct lk_tls_options tls;
    const char *sale;
    int64_t units;                        /* instead of the two; negative: not given */
    struct flag_texts clients, operators; /* logs */
    const char *charges;                  /* file, or NULL */
    struct audit_options strictness;
    bool is_json;
};

static const char help_head[] =
    "audit --redis URL [--redis-...] --sale ID [--clients FILE...]\n"
    "      [--operators FILE]... [--charges FILE] [--allow-lost] [--json]\n"
    "audit --units N --clients FILE... [--json]\n"
    "\n"
    "Judge a finished sale by what Redis holds and what the clients wrote down; the service's own\n"
    "word counts for nothing. Prints one line per check: pass, fail or void (nothing to judge "
    "by).\n"
    "\n";

static const char help_tail[] =
    "\n"
    "Exit status: 0 every check passed; 1 a promise is broken, and the output names it; 2 none\n"
    "failed but one is void, or the input could not be used: bad flag, Redis unreachable, no such\n"
    "sale, evidence that cannot be read or is not of the format (FILE:LINE and the field are "
    "named).\n";

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"redis", FLAG_TEXT, AT(redis), .value = "URL",
     .help = "redis://[user[:pass]@]host[:port][/db], unix:///path,\n"
             "redis+sentinel://h1,h2,h3/NAME or redis+cluster://h1,h2,h3; or one of\n"
             "these with rediss for redis: over TLS"},
    {"redis-password", FLAG_TEXT, AT(redis_password), .value = "FILE",
     .help = "password of the URL's user, the first line of the file. The user need\n"
             "only read"},
    {"sentinel-password", FLAG_TEXT, AT(sentinel_password), .value = "FILE",
     .help = "the first line is [USER:]PASSWORD of the Sentinels"},
    {"redis-ca", FLAG_TEXT, AT(tls.ca_file), .value = "FILE",
     .help = "PEM: who signs the certificates of rediss servers (the system's store)"},
    {"redis-cert", FLAG_TEXT, AT(tls.cert_file), .value = "FILE",
     .help = "PEM: the certificate to show them, ..."},
    {"redis-key", FLAG_TEXT, AT(tls.key_file), .value = "FILE",
     .help = "... and its key (in the same file)"},
    {"redis-server-name", FLAG_TEXT, AT(tls.server_name), .value = "NAME",
     .help = "what their certificates are for (the host of the URL)"},
    {"redis-insecure", FLAG_SWITCH, AT(tls.is_unverified),
     .help = "accept any certificate of theirs"},
    {"sale", FLAG_TEXT, AT(sale), .value = "ID", .help = "the sale"},
    {"units", FLAG_NUMBER, AT(units), 0, 999999999, "N",
     .help = "of a service that is not ours: judge by the clients alone whether the N\n"
             "units that were put up were sold as promised. What only a store can show\n"
             "is not judged: orders lost, orders that nobody asked for, locks left"},
    {"clients", FLAG_TEXTS, AT(clients), .value = "FILE...", .takes_more = true,
     .help = "what the clients wrote down, JSON lines, by our load test or another tool\n"
             "(the format: loadtest/GUIDE.md); without it the checks on answers are\n"
             "void. All words up to the next option are files"},
    {"operators", FLAG_TEXTS, AT(operators), .value = "FILE",
     .help = "an operators' log, of seckilld (DATA/operators.ndjson) or of loadtest; give\n"
             "that of every instance. Without one operators_agree is void: a restock\n"
             "that nobody asked for may hide an oversell"},
    {"charges", FLAG_TEXT, AT(charges), .value = "FILE",
     .help = "the log of payd, for a sale that is paid for later: without it nobody knows\n"
             "what was charged, and payment_explained is void"},
    {"allow-lost", FLAG_SWITCH, AT(strictness.allow_lost),
     .help = "accepted orders that a failover lost are counted and named, not a failure;\n"
             "they excuse what follows from them, all else is judged as ever"},
    {"json", FLAG_SWITCH, AT(is_json),
     .help = "print one JSON object instead; in a file, report FILE draws it"},
    {"help", FLAG_HELP, .help = "this text"},
    {"version", FLAG_VERSION, .help = "the version"},
};

static const struct flags command_line = {
    .program = "audit",
    .head = help_head,
    .tail = help_tail,
    .list = flags,
    .count = sizeof flags / sizeof *flags,
    .column = 24,
};

/* What goes together. */
static bool check(const struct arguments *arguments, struct failure *failure)
{
    if (arguments->units >= 0 && (arguments->redis || arguments->sale))
        return failure_set(failure, "--units: not with --redis, --sale");
    if (arguments->units >= 0)
        return arguments->clients.count > 0 || failure_set(failure, "--units: give --clients, too");
    if (!arguments->redis) return failure_set(failure, "--redis is missing (try --help)");
    if (!arguments->sale) return failure_set(failure, "--sale is missing (try --help)");
    return ledger_sale_id_is_valid(arguments->sale) ||
           failure_set(failure, "--sale: must match [a-z0-9-]{1,40}, not %s", arguments->sale);
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
    for (size_t i = 0; i < arguments->clients.count; i++)
        if (!client_log_read(facts, arguments->clients.list[i], failure)) return false;
    if (arguments->units >= 0) return client_log_stand_in(facts, arguments->units, failure);
    for (size_t i = 0; i < arguments->operators.count; i++)
        if (!operators_log_read(facts, arguments->sale, arguments->operators.list[i], failure))
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

/* Without the clients' words: what there was to judge, in one line. */
static void print_without_clients(const struct facts *facts, const struct audit_result *result)
{
    int counts[] = {[AUDIT_PASS] = 0, [AUDIT_FAIL] = 0, [AUDIT_VOID] = 0};

    for (int i = 0; i < result->check_count; i++)
        if (result->checks[i].name) counts[result->checks[i].verdict]++;
    (void)printf("as far as Redis%s can tell %s is wrong: %d checks pass, %d need --clients%s\n",
                 facts->has_operators ? " and the operators' log" : " alone",
                 counts[AUDIT_FAIL] > 0 ? "something" : "nothing", counts[AUDIT_PASS],
                 counts[AUDIT_VOID], facts->has_operators ? "" : ", or --operators");
}

static void print_lines(const struct arguments *arguments, const struct facts *facts,
                        const struct audit_result *result)
{
    (void)printf("audit of %s%s\n", facts->is_alone ? "the clients' words alone" : "sale ",
                 facts->is_alone ? "" : arguments->sale);
    for (int i = 0; i < result->check_count; i++) {
        const struct audit_check *check = &result->checks[i];
        if (!check->name || (check->verdict == AUDIT_VOID && !facts->has_clients)) continue;
        (void)printf("  %-4s  %-20s  %s\n", audit_verdict_name(check->verdict), check->name,
                     check->words);
    }
    audit_story_write(&result->story, stdout);
    if (facts->has_clients && !facts->is_alone)
        (void)printf("accepted orders lost: %zu of %zu\n", result->lost, result->accepted);
    (void)audit_each_lost(facts, print_lost, NULL, NULL); /* the count stands without them */
    for (int i = 0; i < result->check_count; i++)
        if (result->checks[i].verdict == AUDIT_VOID && facts->has_clients)
            (void)printf("could not be checked: %s\n", result->checks[i].claim);
    if (!facts->has_clients) print_without_clients(facts, result);
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
    static struct arguments arguments = {.units = -1};
    struct audit_result result;
    struct failure failure = {.text = ""};
    struct facts facts;

    std_streams_open();
    int status = flags_main(&command_line, argc, argv, &arguments);
    if (status >= 0) return status;
    (void)signal(SIGPIPE, SIG_IGN); /* a server that closes is told in words */
    facts_init(&facts);
    bool is_judged = check(&arguments, &failure) && gather(&arguments, &facts, &failure) &&
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
