/*
 * A sale that is paid for later, or in segments, run wrongly on purpose (seckilld --lab-payments, --lab-segments): the
 * audit must find each flaw by the law that it breaks. The pause is longer than what it must outlast: the rest of the
 * window; the time between two looks of an idle timer. That the same is found in no sound sale:
 * loadtest_itest.
 */
#include <stdlib.h>

#include "test/support/lt_load.h"
#include "test/support/testing.h"

enum { TRIES = 3 };

TEST(each_flaw_is_found_by_the_law_that_it_breaks)
{
    static const struct {
        const char *of, *flaw, *pause, *words, *law;
    } rows[] = {
        {"SECKILL_LAB_PAYMENTS", "look-then-pay", "1500", "--pay 0.8 --window 1000 --stock 2",
         "one_final_state"},
        {"SECKILL_LAB_PAYMENTS", "own-timers", "1500", "--pay 0.8 --window 1000 --stock 20",
         "return_matches_hold"},
        {"SECKILL_LAB_PAYMENTS", "own-clock", "9000", "--pay 0.8 --window 2000 --stock 20",
         "no_early_expiry"},
        {"SECKILL_LAB_SEGMENTS", "put-in-first", "100", "--segments 4 --stock 40", "moves_arrive"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[128];
        char path[48];
        const char *verdict = "";

        /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
        (void)setenv(rows[i].of, rows[i].flaw, 1);
        (void)snprintf(words, sizeof words, "%s:1000000", rows[i].pause); /* purchases go on */
        (void)setenv("SECKILL_LAB_PAUSE", words, 1);
        /* NOLINTEND(concurrency-mt-unsafe) */
        (void)snprintf(words, sizeof words, "--buyers 400 --connections 8 --quiet %s",
                       rows[i].words);
        (void)snprintf(path, sizeof path, "audit.%s", rows[i].law);
        for (int tries = 0; tries < TRIES && strcmp(verdict, "fail") != 0; tries++) {
            (void)lt_load_try(*state, words);
            json_t *result = lt_load_result(*state);
            verdict = strcmp(lt_load_text(result, path), "fail") == 0 ? "fail" : "pass";
            json_decref(result);
        }
        (void)unsetenv(rows[i].of); /* NOLINT(concurrency-mt-unsafe): one thread */
        assert_string_equal(verdict, "fail");
    }
}

FIXTURE(lt_load_open, lt_load_close);
