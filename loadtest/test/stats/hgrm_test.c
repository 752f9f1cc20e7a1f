/*
 * A percentile distribution of times that are known: what each line says, and that the format is the one that tools read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stats/hgrm.h"
#include "test/support/testing.h"

enum { TIMES = 1000 };

/* 1 .. TIMES ms, the longest first, and one request without an answer. */
static void write_times(const char *path, int times)
{
    struct facts facts;
    struct failure failure = {.text = ""};

    facts_init(&facts);
    for (int ms = times; ms > 0; ms--)
        assert_true(facts_add_ask(&facts, (struct ask){.invoked_ns = 5000000,
                                                       .answered_ns = 5000000 + ms * 1000000LL,
                                                       .outcome = ASK_FAIL}));
    assert_true(facts_add_ask(&facts, (struct ask){.outcome = ASK_UNANSWERED}));
    assert_true(hgrm_write(path, &facts, &failure));
    facts_done(&facts);
}

/* The whole file, closed again. */
static const char *text_of(const char *path)
{
    static char text[16384];
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

TEST(each_line_is_the_time_that_so_many_did_not_exceed)
{
    char path[] = "/tmp/hgrm_test-XXXXXX";
    double value = 0, share = 0, before = -1, rest = 0;
    long seen = 0, lines = 0;

    (void)close(mkstemp(path));
    write_times(path, TIMES);
    const char *text = text_of(path);
    const char *head = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
    assert_memory_equal(text, head, strlen(head));
    for (const char *at = text + strlen(head); *at != '#'; at = strchr(at, '\n') + 1) {
        char *rest_of_line = NULL;
        value = strtod(at, &rest_of_line);
        share = strtod(rest_of_line, &rest_of_line);
        seen = strtol(rest_of_line, &rest_of_line, 10);
        rest = *rest_of_line == '\n' ? 0 : strtod(rest_of_line, &rest_of_line);
        assert_int_equal('\n', *rest_of_line);
        assert_true(share > before && share <= 1);
        assert_true((double)seen == value && value >= share * TIMES && value < share * TIMES + 2);
        if (share < 1) assert_true(rest * (1 - share) > 0.99);
        before = share;
        lines++;
    }
    assert_true(share == 1 && seen == TIMES && lines > 25);
    assert_non_null(strstr(text, " 0.500000000000        500           2.00\n"));
    assert_non_null(strstr(text, " 0.990625000000 "));
    assert_non_null(strstr(text, "#[Mean    =      500.500, StdDeviation   =      288.675]\n"));
    assert_non_null(strstr(text, "#[Max     =     1000.000, Total count    =         1000]\n"));
    (void)unlink(path);
}

TEST(without_answers_the_file_is_empty_and_sound)
{
    char path[] = "/tmp/hgrm_test-XXXXXX";

    (void)close(mkstemp(path));
    write_times(path, 0);
    assert_non_null(strstr(text_of(path), "Total count    =            0]\n"));
    (void)unlink(path);
}
