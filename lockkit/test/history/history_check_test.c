/*
 * The checker against doctored histories: each row is a small history with one fault, or with
 * something that only looks like one. Times are milliseconds here ("#" stands for "000000").
 */
#include "history/judge.h"
#include "test/support/testing.h"

enum { TEXT_MAX = 4096, STUCK_MS = 1000 };
#define NONE CHECK_COUNT

/* A step at T that took D and, for a grant, is good until E. */
#define STEP(t, pid, step, kind, token, status, d, e, rest)                                        \
    t "# " pid " " step " " kind " k " token " " status " took=" d "# ends=" e "# " rest "\n"
#define TAKE(t, pid, kind, token, e) STEP(t, pid, "acquire", kind, token, "ok", "1", e, "count=1")
#define GIVE(t, pid, kind, token)    STEP(t, pid, "release", kind, token, "ok", "1", "0", "count=0")

struct doctored {
    const char *what;
    const char *text;
    enum history_check_id finding; /* NONE: nothing is wrong */
};

static const struct doctored rows[] = {
    {"one after the other",
     TAKE("10", "1", "mutex", "a", "40") GIVE("20", "1", "mutex", "a")
         TAKE("21", "2", "mutex", "b", "50") GIVE("30", "2", "mutex", "b"),
     NONE},
    {"both at once",
     TAKE("10", "1", "mutex", "a", "40") TAKE("15", "2", "mutex", "b", "50")
         GIVE("20", "1", "mutex", "a") GIVE("30", "2", "mutex", "b"),
     CHECK_EXCLUSION},
    {"both at once, lines out of order",
     GIVE("30", "2", "mutex", "b") GIVE("20", "1", "mutex", "a") TAKE("15", "2", "mutex", "b", "50")
         TAKE("10", "1", "mutex", "a", "40"),
     CHECK_EXCLUSION},
    {"different keys", "10# 1 acquire mutex x a ok ends=40#\n11# 2 acquire mutex y b ok ends=40#\n",
     NONE},
    {"the first one's lease had ended",
     TAKE("10", "1", "mutex", "a", "14") TAKE("15", "2", "mutex", "b", "50")
         GIVE("20", "1", "mutex", "a") GIVE("30", "2", "mutex", "b"),
     NONE},
    {"the lease was lost before the acquire was told",
     TAKE("10", "1", "mutex", "a", "40") STEP("15", "2", "lost", "mutex", "b", "lost", "0", "0", "")
         TAKE("16", "2", "mutex", "b", "0"),
     NONE},
    {"the lease had been renewed",
     TAKE("10", "1", "mutex", "a", "14") STEP("12", "1", "renew", "mutex", "a", "ok", "1", "40", "")
         TAKE("15", "2", "mutex", "b", "50"),
     CHECK_EXCLUSION},
    {"the one before was asked to be renewed in time, and the answer came late",
     TAKE("10", "1", "mutex", "a", "14") STEP("16", "1", "renew", "mutex", "a", "ok", "3", "40", "")
         TAKE("15", "2", "mutex", "b", "50"),
     CHECK_EXCLUSION},
    {"a permit's lease was cut short",
     "1# 0 limit permits k 1\n" TAKE("10", "1", "permits", "a", "40")
         STEP("12", "1", "renew", "permits", "a", "ok", "1", "14", "")
             TAKE("15", "2", "permits", "b", "50"),
     NONE},
    {"a renewal that came after the lease renews nothing",
     TAKE("10", "1", "mutex", "a", "14") STEP("16", "1", "renew", "mutex", "a", "ok", "1", "40", "")
         TAKE("15", "2", "mutex", "b", "50"),
     NONE},
    {"the first one was killed soon after, and may have given it back before",
     TAKE("10", "1", "mutex", "a", "40") "20# 1 mark killed\n" TAKE("15", "2", "mutex", "b", "50"),
     NONE},
    {"the first one was killed soon after, but renewed meanwhile",
     TAKE("10", "1", "mutex", "a", "40")
         STEP("18", "1", "renew", "mutex", "a", "ok", "1", "48",
              "") "20# 1 mark killed\n" TAKE("15", "2", "mutex", "b", "50"),
     CHECK_EXCLUSION},
    {"the first one was killed",
     TAKE("10", "1", "mutex", "a", "40") "12# 1 mark killed\n" TAKE("15", "2", "mutex", "b", "50"),
     NONE},
    {"the overlap is while the release is under way",
     TAKE("10", "1", "mutex", "a", "40") STEP("20", "1", "release", "mutex", "a", "ok", "8", "0",
                                              "count=0") TAKE("15", "2", "mutex", "b", "50"),
     NONE},
    {"an acquire without an answer is no certain hold",
     STEP("10", "1", "acquire", "mutex", "a", "unknown", "1", "40", "count=0")
         TAKE("15", "2", "mutex", "b", "50"),
     NONE},
    {"a third one beside the one that reaches furthest",
     TAKE("10", "1", "mutex", "a", "90") GIVE("50", "1", "mutex", "a")
         TAKE("51", "2", "mutex", "b", "90") TAKE("60", "3", "mutex", "c", "90"),
     CHECK_EXCLUSION},
    {"readers together", TAKE("10", "1", "read", "a", "40") TAKE("12", "2", "read", "b", "40"),
     NONE},
    {"a writer beside a reader",
     TAKE("10", "1", "read", "a", "40") TAKE("12", "2", "write", "b:write", "40"), CHECK_EXCLUSION},
    {"a writer beside the shorter of two readers",
     TAKE("10", "1", "read", "a", "40") TAKE("11", "2", "read", "b", "20")
         TAKE("30", "3", "write", "c:write", "40"),
     CHECK_EXCLUSION},
    {"a reader beside a writer",
     TAKE("10", "1", "write", "a:write", "40") TAKE("12", "2", "read", "b", "40"), CHECK_EXCLUSION},
    {"a writer who reads as well",
     TAKE("10", "1", "write", "a:write", "40") TAKE("12", "1", "read", "a", "40"), NONE},
    {"a stranger beside a writer who reads as well",
     TAKE("10", "1", "write", "a:write", "40") TAKE("12", "1", "read", "a", "40")
         TAKE("14", "2", "write", "b:write", "40"),
     CHECK_EXCLUSION},

    {"taken twice and given back twice",
     TAKE("10", "1", "reentrant", "a", "40")
         STEP("12", "1", "acquire", "reentrant", "a", "ok", "1", "42", "count=2")
             STEP("14", "1", "release", "reentrant", "a", "ok", "1", "0", "count=1")
                 GIVE("16", "1", "reentrant", "a"),
     NONE},
    {"given back once is still held",
     TAKE("10", "1", "reentrant", "a", "40")
         STEP("12", "1", "acquire", "reentrant", "a", "ok", "1", "42", "count=2")
             STEP("14", "1", "release", "reentrant", "a", "ok", "1", "0", "count=1")
                 TAKE("20", "2", "reentrant", "b", "60"),
     CHECK_EXCLUSION},
    {"re-entry that does not count",
     TAKE("10", "1", "reentrant", "a", "40")
         STEP("12", "1", "acquire", "reentrant", "a", "ok", "1", "42", "count=3"),
     CHECK_DEPTH},
    {"a release that counts two",
     TAKE("10", "1", "reentrant", "a", "40")
         STEP("12", "1", "acquire", "reentrant", "a", "ok", "1", "42", "count=2")
             GIVE("16", "1", "reentrant", "a"),
     CHECK_DEPTH},

    {"fences grow",
     STEP("10", "1", "acquire", "fenced", "a", "ok", "1", "14", "fence=1 count=1")
         STEP("20", "2", "acquire", "fenced", "b", "ok", "1", "24", "fence=2 count=1"),
     NONE},
    {"a fence twice",
     STEP("10", "1", "acquire", "fenced", "a", "ok", "1", "14", "fence=7 count=1")
         STEP("20", "2", "acquire", "fenced", "b", "ok", "1", "24", "fence=7 count=1"),
     CHECK_FENCE},
    {"a fence that fell, and one in between",
     STEP("10", "1", "acquire", "fenced", "a", "ok", "1", "14", "fence=7 count=1")
         STEP("20", "2", "acquire", "fenced", "b", "ok", "1", "24", "fence=8 count=1")
             STEP("30", "3", "acquire", "fenced", "c", "ok", "1", "34", "fence=6 count=1"),
     CHECK_FENCE},
    {"fences of acquires under way together may come either way",
     STEP("10", "1", "acquire", "fenced", "a", "ok", "1", "14", "fence=9 count=1")
         STEP("20", "2", "acquire", "fenced", "b", "ok", "15", "24", "fence=8 count=1"),
     NONE},

    {"two of two permits",
     "1# 0 limit permits k 2\n" TAKE("10", "1", "permits", "a", "40")
         TAKE("12", "2", "permits", "b", "40"),
     NONE},
    {"three of two permits",
     "1# 0 limit permits k 2\n" TAKE("10", "1", "permits", "a", "40")
         TAKE("12", "2", "permits", "b", "40") TAKE("14", "3", "permits", "c", "40"),
     CHECK_PERMITS},
    {"three of two permits, but one has expired",
     "1# 0 limit permits k 2\n" TAKE("10", "1", "permits", "a", "13")
         TAKE("12", "2", "permits", "b", "40") TAKE("14", "3", "permits", "c", "40"),
     NONE},
    {"a semaphore of two with three inside",
     "1# 0 limit semaphore k 2\n" STEP("10", "1", "acquire", "semaphore", "-", "ok", "1", "0",
                                       "count=2")
         STEP("12", "2", "acquire", "semaphore", "-", "ok", "1", "0", "count=1"),
     CHECK_PERMITS},
    {"a semaphore handed on while the release is under way",
     "1# 0 limit semaphore k 2\n" STEP("10", "1", "acquire", "semaphore", "-", "ok", "1", "0",
                                       "count=2")
         STEP("14", "1", "release", "semaphore", "-", "ok", "3", "0", "count=2")
             STEP("12", "2", "acquire", "semaphore", "-", "ok", "1", "0", "count=1"),
     NONE},

    {"a semaphore whose holder was killed, and may have given back before",
     "1# 0 limit semaphore k 2\n" STEP("10", "1", "acquire", "semaphore", "-", "ok", "1", "0",
                                       "count=2") "12# 1 mark killed\n" STEP("15", "2", "acquire",
                                                                             "semaphore", "-", "ok",
                                                                             "1", "0", "count=1"),
     NONE},

    {"served in the order of the queue",
     STEP("10", "1", "queued", "fair", "a", "ok", "1", "0", "")
         STEP("12", "2", "queued", "fair", "b", "ok", "1", "0", "")
             TAKE("20", "1", "fair", "a", "24") TAKE("30", "2", "fair", "b", "34"),
     NONE},
    {"served against the order of the queue",
     STEP("10", "1", "queued", "fair", "a", "ok", "1", "0", "")
         STEP("12", "2", "queued", "fair", "b", "ok", "1", "0", "")
             TAKE("20", "2", "fair", "b", "24") TAKE("30", "1", "fair", "a", "34"),
     CHECK_FAIRNESS},
    {"queued together may be served either way",
     STEP("10", "1", "queued", "fair", "a", "ok", "1", "0", "")
         STEP("12", "2", "queued", "fair", "b", "ok", "5", "0", "")
             TAKE("20", "2", "fair", "b", "24") TAKE("30", "1", "fair", "a", "34"),
     NONE},
    {"who lost the place counts from the new one",
     STEP("10", "1", "queued", "fair", "a", "ok", "1", "0", "")
         STEP("12", "2", "queued", "fair", "b", "ok", "1", "0", "")
             STEP("15", "1", "queued", "fair", "a", "ok", "1", "0", "")
                 TAKE("20", "2", "fair", "b", "24") TAKE("30", "1", "fair", "a", "34"),
     NONE},
    {"served in time, but told after the lease",
     STEP("10", "1", "queued", "fair", "a", "ok", "1", "0", "")
         STEP("12", "2", "queued", "fair", "b", "ok", "1", "0", "")
             TAKE("20", "2", "fair", "b", "24") TAKE("30", "1", "fair", "a", "19"),
     NONE},
    {"who gave up is not waited for",
     STEP("10", "1", "queued", "fair", "a", "ok", "1", "0", "") STEP(
         "12", "2", "queued", "fair", "b", "ok", "1", "0", "") TAKE("20", "2", "fair", "b", "24"),
     NONE},

    {"a renewed hold is lost for nothing",
     STEP("10", "1", "acquire", "mutex", "a", "ok", "1", "40", "count=1 renewed=1")
         STEP("40", "1", "lost", "mutex", "a", "lost", "0", "0", ""),
     CHECK_RENEWAL},
    {"a renewed hold is lost by a pause",
     STEP("10", "1", "acquire", "mutex", "a", "ok", "1", "40", "count=1 renewed=1")
         STEP("60", "1", "lost", "mutex", "a", "lost", "0", "0",
              "") "20# 1 mark paused\n58# 1 mark resumed\n",
     NONE},
    {"the pause was somebody else's",
     STEP("10", "1", "acquire", "mutex", "a", "ok", "1", "40", "count=1 renewed=1")
         STEP("60", "1", "lost", "mutex", "a", "lost", "0", "0",
              "") "20# 2 mark paused\n58# 2 mark resumed\n",
     CHECK_RENEWAL},
    {"the pause was over before the last renewal",
     STEP("10", "1", "acquire", "mutex", "a", "ok", "1", "40", "count=1 renewed=1")
         STEP("30", "1", "renew", "mutex", "a", "ok", "1", "60", "")
             STEP("60", "1", "lost", "mutex", "a", "lost", "0", "0",
                  "") "20# 1 mark paused\n25# 1 mark resumed\n",
     CHECK_RENEWAL},
    {"the pause delayed a renewal's answer",
     STEP("10", "1", "acquire", "mutex", "a", "ok", "1", "40", "count=1 renewed=1")
         STEP("60", "1", "renew", "mutex", "a", "ok", "40", "50", "")
             STEP("61", "1", "lost", "mutex", "a", "lost", "0", "0",
                  "") "22# 1 mark paused\n59# 1 mark resumed\n",
     NONE},
    {"the server was away",
     STEP("10", "1", "acquire", "mutex", "a", "ok", "1", "40", "count=1 renewed=1")
         STEP("60", "1", "lost", "mutex", "a", "lost", "0", "0",
              "") "20# 0 mark cut\n58# 0 mark healed\n",
     NONE},
    {"a hold that is not renewed may end",
     TAKE("10", "1", "mutex", "a", "40")
         STEP("40", "1", "lost", "mutex", "a", "lost", "0", "0", ""),
     NONE},

    {"waiting beside a free lock",
     TAKE("10", "1", "mutex", "a", "40") GIVE("20", "1", "mutex", "a")
         STEP("2020", "2", "acquire", "mutex", "-", "busy", "2000", "0", ""),
     CHECK_LIVENESS},
    {"waiting beside a free lock, and served in the end",
     TAKE("10", "1", "mutex", "a", "40") GIVE("20", "1", "mutex", "a")
         STEP("2020", "2", "acquire", "mutex", "b", "ok", "2000", "2060", "count=1"),
     CHECK_LIVENESS},
    {"waiting while others hold it in turn",
     TAKE("10", "1", "mutex", "a", "3000") GIVE("900", "1", "mutex", "a")
         TAKE("1100", "3", "mutex", "c", "3000") GIVE("2019", "3", "mutex", "c")
             STEP("2020", "2", "acquire", "mutex", "-", "busy", "2000", "0", ""),
     NONE},
    {"waiting for a dead holder's lease",
     TAKE("10", "1", "mutex", "a", "3000") "12# 1 mark killed\n" STEP(
         "2020", "2", "acquire", "mutex", "-", "busy", "2000", "0", ""),
     NONE},
    {"waiting for what an unanswered acquire may hold",
     STEP("10", "1", "acquire", "mutex", "a", "unknown", "1", "3000", "")
         STEP("2020", "2", "acquire", "mutex", "-", "busy", "2000", "0", ""),
     NONE},
    {"waiting while paused",
     STEP("2020", "2", "acquire", "mutex", "-", "busy", "2000", "0",
          "") "100# 2 mark paused\n2000# 2 mark resumed\n" TAKE("10", "1", "mutex", "a", "15"),
     NONE},

    {"a latch passed at its time",
     "1# 0 limit latch k 2\n" STEP("10", "1", "release", "latch", "-", "ok", "1", "0", "count=1")
         STEP("12", "2", "release", "latch", "-", "ok", "1", "0", "count=1")
             STEP("13", "3", "acquire", "latch", "-", "ok", "5", "0", ""),
     NONE},
    {"a latch passed too early",
     "1# 0 limit latch k 2\n" STEP("10", "1", "release", "latch", "-", "ok", "1", "0", "count=1")
         STEP("16", "2", "release", "latch", "-", "ok", "1", "0", "count=1")
             STEP("13", "3", "acquire", "latch", "-", "ok", "5", "0", ""),
     CHECK_LATCH},
    {"a latch passed that was never opened",
     "1# 0 limit latch k 2\n" STEP("10", "1", "release", "latch", "-", "ok", "1", "0", "count=1")
         STEP("13", "3", "acquire", "latch", "-", "ok", "5", "0", ""),
     CHECK_LATCH},

    {"a latch passed that one who was killed may have opened",
     "1# 0 limit latch k 2\n" STEP("10", "1", "release", "latch", "-", "ok", "1", "0", "count=1")
         STEP("13", "3", "acquire", "latch", "-", "ok", "5", "0", "") "12# 2 mark killed\n",
     NONE},

    {"a key with a TTL is left", "90# 0 left-key k hash 250\n", NONE},
    {"a key without TTL is left", "90# 0 left-key k hash -1\n", CHECK_LEFTOVERS},
    {"a subscription is left", "90# 0 left-channel c 1\n", CHECK_LEFTOVERS},
    {"no subscription is left", "90# 0 left-channel c 0\n", NONE},
};

/* "#" becomes "000000". */
static void widen(const char *text, char *out)
{
    size_t used = 0;

    for (const char *c = text; *c && used + 7 < TEXT_MAX; c++) {
        if (*c == '#') {
            memcpy(out + used, "000000", 6);
            used += 6;
        } else {
            out[used++] = *c;
        }
    }
    out[used] = '\0';
}

static unsigned long read_text(struct history *history, const char *text, const char **out_why)
{
    char wide[TEXT_MAX];

    widen(text, wide);
    FILE *file = fmemopen(wide, strlen(wide), "r");
    assert_non_null(file);
    unsigned long line = history_read(history, file, out_why);
    (void)fclose(file);
    return line;
}

static void expect_finding(const struct doctored *row, enum history_check_id id,
                           const struct history_report *report)
{
    bool is_expected = row->finding == id;

    if ((report->found[id] > 0) == is_expected) return;
    fail_msg("%s: %s found %zu", row->what, history_check_name(id), report->found[id]);
}

TEST(each_doctored_history_shows_its_fault_and_no_other)
{
    static const struct history_check_options options = {.stuck_ms = STUCK_MS};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct history history = {0};
        struct history_report report;
        const char *why = NULL;
        unsigned long line = read_text(&history, rows[i].text, &why);

        if (line) fail_msg("%s: line %lu: %s", rows[i].what, line, why);
        assert_true(history_check(&history, &options, &report));
        for (int id = 0; id < CHECK_COUNT; id++)
            expect_finding(&rows[i], (enum history_check_id)id, &report);
        history_done(&history);
    }
}

TEST(what_a_sleeper_believed_is_only_counted)
{
    struct history history = {0};
    struct history_report report;
    const char *why = NULL;

    assert_int_equal(read_text(&history,
                               TAKE("10", "1", "mutex", "a", "14") TAKE(
                                   "15", "2", "mutex", "b", "50") GIVE("20", "1", "mutex", "a"),
                               &why),
                     0);
    assert_true(
        history_check(&history, &(struct history_check_options){.stuck_ms = STUCK_MS}, &report));

    assert_int_equal(history_found(&report), 0);
    assert_int_equal(report.beliefs, 1);
    history_done(&history);
}

TEST(a_line_that_is_none_is_named)
{
    static const char *const bad[] = {
        "x 1 acquire mutex k a ok\n",
        "1 x acquire mutex k a ok\n",
        "1 1 grab mutex k a ok\n",
        "1 1 acquire mutex k a\n",
        "1 1 acquire mutex k a ok b\n",
        "1 1 acquire mutex k a ok took=x\n",
        "1 1 limit latch k many\n",
        "1 1 left-key k string\n",
        "1 1\n",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct history history = {0};
        const char *why = NULL;
        char text[128] = "1 1 mark killed\n";

        (void)strncat(text, bad[i], sizeof text - strlen(text) - 1);
        if (read_text(&history, text, &why) != 2) fail_msg("was taken: %s", bad[i]);
        assert_non_null(why);
        history_done(&history);
    }
}

/* A million lines would take minutes if anything went by the square of their number. */
TEST(a_long_history_of_one_key_takes_no_square_time)
{
    enum { HOLDS = 50000 };
    struct history history = {0};
    struct history_report report;
    const char *why = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (int i = 0; i < HOLDS; i++) {
        (void)fprintf(out, "%d00 1 acquire fenced k t%d ok took=10 ends=%d90 fence=%d count=1\n",
                      i + 1, i, i + 1, i + 1);
        (void)fprintf(out, "%d50 1 release fenced k t%d ok took=10 count=0\n", i + 1, i);
    }
    (void)fclose(out);
    FILE *in = fmemopen(text, size, "r");
    assert_non_null(in);
    assert_int_equal(history_read(&history, in, &why), 0);
    (void)fclose(in);
    assert_true(
        history_check(&history, &(struct history_check_options){.stuck_ms = STUCK_MS}, &report));

    assert_int_equal(history_found(&report), 0);
    assert_int_equal(report.holds, HOLDS);
    assert_int_equal(report.examined[CHECK_FENCE], HOLDS);
    history_done(&history);
    free(text);
}
