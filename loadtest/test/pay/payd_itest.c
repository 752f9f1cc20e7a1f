/*
 * The payment provider as a program, with this test as the shop: links, signatures, what is sent again,
 * each fault, and what is lost and comes back.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "pay/payd_faults.h"
#include "pay/payd_sign.h"
#include "test/support/lt_command.h"
#include "test/support/lt_net.h"
#include "test/support/testing.h"

enum { SOON_MS = 5000, QUIET_MS = 100, LATE_MS = 150, TEXT_MAX = 4096, EVENTS_MAX = 4 };

#define KEY "0123456789abcdef0123456789abcdef"

struct rig {
    struct lt_sandbox sandbox;
    struct process payd;
    int listener; /* the shop's */
    char webhook[64], key[LT_PATH_MAX + 64];
    int port; /* of payd */
};

struct event {
    char text[TEXT_MAX]; /* the request */
    const char *body;
    int64_t at_ms;
    bool is_signed, is_fresh;
};

static bool is_ready(void *arg)
{
    struct rig *rig = arg;
    char said[512];

    lt_sandbox_read(&rig->sandbox, "payd", said, sizeof said);
    const char *port = strstr(said, "127.0.0.1:");
    rig->port = port ? (int)strtol(port + strlen("127.0.0.1:"), NULL, 10) : 0;
    return strchr(said, '\n') != NULL;
}

SET_UP(struct rig, rig)
{
    int port = 0;

    assert_true(lt_sandbox_open(&rig->sandbox));
    rig->listener = lt_listen(&port);
    assert_true(rig->listener >= 0);
    (void)snprintf(rig->webhook, sizeof rig->webhook, "http://127.0.0.1:%d/events", port);
    assert_true(lt_sandbox_write(&rig->sandbox, "key", KEY "\n", rig->key));
}

TEAR_DOWN(struct rig, rig)
{
    process_stop(&rig->payd, 0);
    lt_hang_up(&rig->listener);
    lt_sandbox_close(&rig->sandbox);
}

/* With up to two faults: "--late", "1:300". */
static void start(struct rig *rig, const char *more)
{
    struct lt_command line;

    lt_command_make(&line, &rig->sandbox, "payd --webhook %s --key %s --log @log --seed 7 %s",
                    rig->webhook, rig->key, more);
    assert_true(lt_start(&rig->sandbox, line.argv, "payd", &rig->payd));
    assert_true(lt_eventually(is_ready, rig, SOON_MS));
}

/* Ask payd with the link of an order, signed with `key`; the status. */
static long ask(const struct rig *rig, const char *method, const char *order, const char *key,
                char out[TEXT_MAX])
{
    char query[256], sig[PAYD_HEX_MAX], request[1024];
    int fd = -1;

    (void)snprintf(query, sizeof query,
                   "sale=lamp&order=%s&buyer=u1&amount=199900&currency=CNY&payBy=9", order);
    payd_sign_hex(key, query, strlen(query), sig);
    (void)snprintf(request, sizeof request,
                   "%s /pay?%s&sig=%s HTTP/1.1\r\nHost: payd\r\nContent-Length: 0\r\n\r\n", method,
                   query, sig);
    long status = lt_http_ask(&fd, rig->port, request, out, TEXT_MAX);
    lt_hang_up(&fd);
    return status;
}

static void pay(const struct rig *rig, const char *order, const char *says)
{
    char text[TEXT_MAX];

    assert_int_equal(200, ask(rig, "POST", order, KEY, text));
    if (!strstr(text, says)) fail_msg("%s", text);
}

/* The next event, answered with `status`; 0: hung up on. false: none came. */
static bool next_event(const struct rig *rig, int limit_ms, long status, struct event *out)
{
    char answer[128], expected[PAYD_SIGNATURE_MAX];

    if (!lt_comes(rig->listener, limit_ms)) return false;
    int fd = lt_accept(rig->listener);
    assert_true(lt_http_read(fd, out->text, sizeof out->text) > 0);
    out->at_ms = clock_ms();
    out->body = strstr(out->text, "\r\n\r\n") + 4;
    const char *t = strstr(out->text, "Payment-Signature: t=");
    assert_non_null(t);
    long long unix_s = strtoll(t + strlen("Payment-Signature: t="), NULL, 10);
    payd_sign_webhook(KEY, unix_s, out->body, expected);
    out->is_signed = strstr(out->text, expected) != NULL;
    out->is_fresh = llabs((long long)time(NULL) - unix_s) < 60;
    (void)snprintf(answer, sizeof answer,
                   "HTTP/1.1 %ld X\r\nContent-Length: 17\r\nConnection: close\r\n\r\n"
                   "{\"result\":\"paid\"}",
                   status);
    if (status) assert_true(lt_send(fd, answer));
    lt_hang_up(&fd);
    return true;
}

/* What comes, each answered with 200, until it is quiet. */
static size_t take_events(const struct rig *rig, struct event events[EVENTS_MAX])
{
    size_t count = 0;

    while (count < EVENTS_MAX &&
           next_event(rig, count ? 2 * LATE_MS : SOON_MS, 200, &events[count]))
        count++;
    return count;
}

TEST(a_signature_is_hmac_sha256) /* RFC 4231, test case 2 */
{
    char hex[PAYD_HEX_MAX];

    payd_sign_hex("Jefe", "what do ya want for nothing?", 28, hex);
    assert_string_equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", hex);
}

TEST(a_choice_hangs_on_seed_and_payment)
{
    const struct flag lose = {.name = "lose", .offset = PAYD_LOSE};
    struct payd_faults faults = {.seed = 1};
    struct payd_faults other = {.seed = 2};
    unsigned hits = 0, differences = 0;

    assert_true(payd_faults_take(&lose, &faults, "0.25", NULL));
    assert_true(payd_faults_take(&lose, &other, "0.25", NULL));
    for (int i = 0; i < 1000; i++) {
        char payment[32];
        (void)snprintf(payment, sizeof payment, "pay-%d-1", i);
        bool is_hit = payd_faults_hit(&faults, PAYD_LOSE, payment);
        assert_true(is_hit == payd_faults_hit(&faults, PAYD_LOSE, payment));
        if (is_hit) hits++;
        if (is_hit != payd_faults_hit(&other, PAYD_LOSE, payment)) differences++;
    }
    assert_in_range(hits, 200, 300);
    assert_in_range(differences, 200, 600);
}

TEST(only_the_shops_links_are_paid, struct rig *rig)
{
    char text[TEXT_MAX];

    start(rig, "");
    assert_int_equal(200, ask(rig, "GET", "11", KEY, text));
    assert_non_null(strstr(text, "1999.00 CNY"));
    assert_int_equal(403, ask(rig, "POST", "11", "another key", text));
    assert_int_equal(400, ask(rig, "POST", "1%3C1", KEY, text));
    assert_int_equal(405, ask(rig, "PUT", "11", KEY, text));
    assert_false(lt_comes(rig->listener, QUIET_MS));
}

TEST(what_the_shop_does_not_take_is_sent_again, struct rig *rig)
{
    struct event first = {.body = ""};
    struct event again = {.body = ""};

    start(rig, "");
    pay(rig, "11", "\"payment\":\"pay-11-1\",\"charged\":true");
    assert_true(next_event(rig, SOON_MS, 200, &first)); /* begun */
    assert_true(next_event(rig, SOON_MS, 503, &first));
    assert_true(next_event(rig, SOON_MS, 0, &again));
    assert_string_equal(first.body, again.body);
    assert_true(next_event(rig, SOON_MS, 400, &again));
    assert_string_equal(first.body, again.body);
    assert_false(lt_comes(rig->listener, 3 * LATE_MS)); /* 400 is an answer */
    pay(rig, "11", "pay-11-2");
}

/* What is expected of one payment: the ends of its events' types in their order ("?": any), how many of
 * them are damaged, and what is in the files. */
static const struct {
    const char *flag, *says, *events, *in_log, *in_lost;
    int damaged;
} faults[] = {
    {"", "true,\"amount\":199900", "started succeeded ",
     "{\"e\":\"charge\",\"payment\":\"pay-11-1\",\"sale\":\"lamp\",\"order\":\"11\",\"buyer\":"
     "\"u1\","
     "\"amount\":199900,\"currency\":\"CNY\"}\n",
     "", 0},
    {"--decline 1", "false", "started failed ", "failed", "", 0},
    {"--duplicate 1", "true", "started succeeded succeeded ", "charge", "", 0},
    {"--lose 1", "true", "started ", "charge", "succeeded", 0},
    {"--reorder 1", "true", "succeeded failed ", "charge", "", 0},
    {"--mismatch 1", "199901", "started succeeded ", "\"amount\":199901", "", 0},
    {"--bad-signature 1", "true", "? ? succeeded ", "\"damaged\":true", "", 1},
    {"--stale 1", "true", "? ? succeeded ", "\"damaged\":true", "", 1},
    {"--late 1:150", "true", "started succeeded ", "charge", "", 0},
};

static bool are(const struct event *events, size_t count, const char *types)
{
    char expected[32];

    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(types, " ");
        (void)snprintf(expected, sizeof expected, "\"payment.%.*s\"", (int)length, types);
        if (!*types || (*types != '?' && !strstr(events[i].body, expected))) return false;
        types += length + 1;
    }
    return !*types;
}

static void judge(const struct rig *rig, size_t row)
{
    static struct event events[EVENTS_MAX];
    char log[TEXT_MAX], lost[TEXT_MAX];
    int damaged = 0;

    pay(rig, "11", faults[row].says);
    size_t count = take_events(rig, events);
    for (size_t i = 0; i < count; i++)
        damaged += !events[i].is_signed || !events[i].is_fresh;
    lt_sandbox_read(&rig->sandbox, "log", log, sizeof log);
    lt_sandbox_read(&rig->sandbox, "log.lost", lost, sizeof lost);
    if (!are(events, count, faults[row].events) || damaged != faults[row].damaged ||
        !strstr(log, faults[row].in_log) || !strstr(lost, faults[row].in_lost))
        fail_msg("%s: %zu events, %d damaged\n%s\n%s", faults[row].flag, count, damaged, log, lost);
    if (strstr(faults[row].flag, "late"))
        assert_true(events[1].at_ms - events[0].at_ms > LATE_MS - QUIET_MS);
    assert_true(!strstr(log, "\"e\":\"charge\"") == !strcmp(faults[row].says, "false"));
}

TEST(each_fault_is_what_it_is_called, struct rig *rig)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char path[LT_PATH_MAX + 64];

        assert_true(lt_sandbox_write(&rig->sandbox, "log", "", path) &&
                    lt_sandbox_write(&rig->sandbox, "log.lost", "", path) &&
                    lt_sandbox_write(&rig->sandbox, "payd", "", path));
        start(rig, faults[i].flag);
        judge(rig, i);
        process_stop(&rig->payd, 0);
    }
}

TEST(what_was_not_told_by_ctrl_c_is_told_by_a_replay, struct rig *rig)
{
    struct event event = {.body = ""};
    struct lt_command line;
    struct process again;

    start(rig, "--late 1:60000 --slow 1:10");
    pay(rig, "11", "true");
    assert_true(next_event(rig, SOON_MS, 200, &event)); /* begun */
    process_signal(&rig->payd, SIGINT);
    assert_true(process_wait(&rig->payd, SOON_MS));
    assert_true(WIFEXITED(rig->payd.wait_status) && WEXITSTATUS(rig->payd.wait_status) == 0);

    lt_command_make(&line, &rig->sandbox, "payd --webhook %s --key %s --replay @log.lost",
                    rig->webhook, rig->key);
    assert_true(lt_start(&rig->sandbox, line.argv, "again", &again));
    assert_true(next_event(rig, SOON_MS, 200, &event));
    assert_true(event.is_signed && strstr(event.body, "payment.succeeded"));
    assert_true(process_wait(&again, SOON_MS));
    assert_true(WIFEXITED(again.wait_status) && WEXITSTATUS(again.wait_status) == 0);
}

TEST(what_cannot_run_says_why, struct rig *rig)
{
    static const struct lt_case rows[] = {
        {"--help", 0, "--bad-signature X"},
        {"--version", 0, "payd "},
        {"", 2, "--webhook and --key are needed"},
        {"--webhook ftp://x --key k", 2, "is no http:// URL"},
        {"--webhook http://x --key /nonexistent", 2, "--key: /nonexistent: "},
        {"--lose 2", 2, "--lose: \"2\" is not a share from 0 to 1"},
        {"--lose 1:5", 2, "--lose: \"1:5\""},
        {"--late 1:0", 2, "or SHARE:MS"},
        {"--seed x", 2, "--seed: \"x\" is not a number"},
        {"--nonsense", 2, "try --help"},
        {"more", 2, "do not know what to do with \"more\""},
        {NULL, 0, NULL},
    };

    lt_must_all(&rig->sandbox, "payd", rows);
    (void)lt_must(&rig->sandbox, 1, "payd --webhook http://x --key %s --listen 127.0.0.1:99999",
                  rig->key);
    (void)lt_must(&rig->sandbox, 1, "payd --webhook http://x --key %s --replay /nonexistent",
                  rig->key);
}
