/*
 * A run of two steps, as a learner reads it and as a program does.
 */
#include <jansson.h>

#include "lab/lab.h"
#include "lab/show/render.h"
#include "test/support/testing.h"

static char set_command[] = "SET seckill:{lamp}:lock A#1";
static char set_reply[] = "OK";
static char lost_command[] = "GET \"seckill:{lamp}:stock\"";

static char release_command[] = "EVALSHA mutex_release.lua 2 seckill:{lamp}:lock wake A#1";
static char release_reply[] = "0";
static char release_text[] = "-- Compare and delete.\n"
                             "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n"
                             "redis.call('DEL', KEYS[1])\n"
                             "return 1\n";
static char clock_command[] = "TIME";
static char clock_reply[] = "[<seconds>, <microseconds>]";
static char take_command[] = "SET seckill:{lamp}:lock A#1 NX PX 2100";

static struct tap_call calls[] = {{.command = set_command, .reply = set_reply},
                                  {.command = lost_command}};

static const struct lab_scenario scenario = {
    .number = "7b",
    .name = "a-name",
    .title = {"A title", "标题"},
    .lesson = {"What it teaches.\nAnd why.", "它教什么。\n为什么。"},
    .expected = {{LAB_OVERSOLD, 2}},
    .leads_to = "another"};

static struct lab_run run;

static int set_up(void **state)
{
    calls[0].server = 0;
    run = (struct lab_run){.scenario = &scenario,
                           .actor_count = 2,
                           .lock_count = 1,
                           .locks = {"seckill:{lamp}:lock"},
                           .units = 1,
                           .step_count = 2,
                           .break_count = 1,
                           .breaks = {{LAB_OVERSOLD, 2}}};
    run.actors[0].name = "A";
    run.actors[0].way = "mutex";
    run.actors[1].name = "B";
    run.actors[1].way = "";
    run.actors[1].is_process = true;
    run.steps[0] =
        (struct lab_step){.actor = 1,
                          .did = {"takes the lock", "加锁"},
                          .calls = {calls, 2},
                          .told = "created",
                          .state = {.lock = {{.owner = "A#1", .lease = LAB_FOR_EVER}}, .stock = 1}};
    run.steps[1] = (struct lab_step){.actor = LAB_TIME,
                                     .did = {"the lease ends", "租约到期"},
                                     .state = {.stock = -1, .order_count = 2},
                                     .broken = LAB_OVERSOLD};
    return 0;
}

static char *text_in(enum lab_language language)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    render_text(&run, language, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
}

TEST(text_tells_who_did_what_and_what_came_of_it)
{
    char *text = text_in(LAB_ENGLISH);

    assert_has(text, "7b  a-name  A title\n");
    assert_has(text, "What it teaches.");
    assert_has(text, "A (mutex)");
    assert_has(text, "B (no guard, process)");
    assert_has(text, "SET :lock A#1 -> OK\n");
    assert_has(text, "GET \":stock\" -> ...\n");
    assert_has(text, "told: created\n");
    assert_has(text, "A#1       for ever");
    assert_has(text, "*** more orders than units\n");
    assert_has(text, "Verdict: oversold at step 2, as expected\n  And why.\nNext: another\n");
    assert_true(strstr(text, "And why.") > strstr(text, "Verdict")); /* it is a guess until then */
    free(text);
}

/* The lock of the run is on redis-1; redis-2 is down. */
static void spread_over_servers(void)
{
    run.server_count = 2;
    run.lock_count = 2;
    run.locks[1] = run.locks[0];
    run.lock_servers[0] = 1;
    run.lock_servers[1] = 2;
    run.steps[0].state.lock[1].lease = LAB_DOWN;
    calls[0].server = 1;
}

TEST(text_names_the_server_where_there_are_several)
{
    spread_over_servers();
    char *text = text_in(LAB_ENGLISH);
    assert_has(text, "redis-1> SET :lock A#1 -> OK\n");
    assert_has(text, "shop> GET \":stock\" -> ...\n");
    assert_has(text, "\n    | lock: redis-1 A#1 for ever   redis-2 down\n");
    assert_null(strstr(text, "TTL")); /* it has no column */
    free(text);
}

TEST(json_names_the_server_where_there_are_several)
{
    char *text = render_json(&run, LAB_ENGLISH);
    assert_non_null(text);
    assert_null(strstr(text, "\"server\""));
    free(text);
    spread_over_servers();
    text = render_json(&run, LAB_ENGLISH);
    assert_non_null(text);
    assert_has(text, "\"reply\":\"OK\",\"server\":\"redis-1\"}");
    assert_has(text, "\"reply\":null,\"server\":\"shop\"}");
    assert_has(text, "\"owner\":\"\",\"ttl\":\"down\",\"server\":\"redis-2\"}");
    free(text);
}

TEST(a_column_is_called_by_what_its_key_is)
{
    run.lock_count = 2;
    run.locks[0] = "seckill:{lamp}:permits";
    run.locks[1] = "seckill:{case}:lock";
    char *text = text_in(LAB_ENGLISH);

    assert_has(text, "permits   TTL      case      TTL      stock");
    free(text);
}

TEST(a_script_is_shown_with_the_line_that_decided)
{
    static struct tap_call release = {
        .command = release_command, .reply = release_reply, .script = release_text};

    run.steps[0].calls = (struct tap_calls){&release, 1};
    char *text = text_in(LAB_ENGLISH);
    assert_has(text, "\n    | Lua: mutex_release.lua\n    |     1  -- Compare and delete.\n"
                     "    | >   2  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n"
                     "    |     3  redis.call('DEL', KEYS[1])\n");
    free(text);
    text = render_json(&run, LAB_ENGLISH);
    assert_non_null(text);
    assert_has(text, "\"script\":{\"at\":0,\"decided\":2,\"lines\":[1,2,3,4]}");
    assert_has(text, "\"scripts\":[{\"name\":\"mutex_release.lua\",\"text\":\"-- Compare");
    free(text);
}

TEST(what_a_step_is_not_about_is_named_and_folded)
{
    static struct tap_call both[] = {{.command = lost_command},
                                     {.command = clock_command, .reply = clock_reply}};

    run.steps[0].calls = (struct tap_calls){both, 2};
    char *text = text_in(LAB_ENGLISH);
    assert_has(text, "(and: clock)\n");
    assert_null(strstr(text, "<seconds>"));
    free(text);
    text = render_json(&run, LAB_CHINESE);
    assert_non_null(text);
    assert_has(text, "\"aside\":\"时钟\"");
    free(text);
    run.steps[0].calls = (struct tap_calls){&both[1], 1}; /* the step is about it */
    text = text_in(LAB_ENGLISH);
    assert_has(text, "TIME -> [<seconds>, <microseconds>]\n");
    free(text);
}

TEST(steps_need_no_scenario)
{
    static struct tap_call both[] = {{.command = lost_command},
                                     {.command = clock_command, .reply = clock_reply}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    run.scenario = NULL;
    run.steps[0].calls = (struct tap_calls){both, 2};
    assert_non_null(out);
    render_text_steps(&run, LAB_CHINESE, out);
    assert_int_equal(fclose(out), 0);
    assert_has(text, "（另有：时钟）");
    free(text);
}

TEST(a_lease_is_a_number_and_the_lab_has_a_lane_of_its_own)
{
    static struct tap_call take = {.command = take_command, .reply = set_reply};

    run.steps[0].calls = (struct tap_calls){&take, 1};
    run.steps[0].state.lock[0].lease = LAB_LEASED;
    char *text = text_in(LAB_ENGLISH);
    assert_has(text, "A#1       2100 ");
    assert_has(text, "\n 2  [lab] the lease ends ");
    assert_has(text, "-         0 ");
    free(text);
    text = render_json(&run, LAB_ENGLISH);
    assert_non_null(text);
    assert_has(text, "\"ttl\":\"lease\",\"ms\":2100}");
    assert_has(text, "\"ttl\":\"free\",\"ms\":0}");
    free(text);
}

TEST(an_actor_writes_in_its_own_column)
{
    char *text = text_in(LAB_ENGLISH);
    const char *head = strstr(text, "    A (mutex)");
    const char *row = strstr(text, "\n 1  ");

    assert_non_null(head);
    assert_non_null(row);
    assert_int_equal(strstr(row, "takes the lock") - (row + 1), strstr(head, "B (") - head);
    free(text);
}

TEST(text_is_there_in_chinese)
{
    char *text = text_in(LAB_CHINESE);

    assert_has(text, "标题");
    assert_has(text, "它教什么。");
    assert_has(text, "加锁");
    assert_has(text, "租约到期");
    assert_has(text, "符合预期");
    assert_null(strstr(text, "as expected"));
    free(text);
}

TEST(another_verdict_is_called_unexpected)
{
    run.breaks[0].step = 1;
    assert_false(lab_run_is_expected(&run));
    char *text = text_in(LAB_ENGLISH);
    assert_has(text, "Verdict: oversold at step 1; UNEXPECTED, it should be oversold at step 2\n");
    free(text);
    run.break_count = 0;
    assert_false(lab_run_is_expected(&run));
    text = text_in(LAB_ENGLISH);
    assert_has(text, "Verdict: sound; UNEXPECTED, it should be oversold at step 2\n");
    free(text);
}

TEST(a_run_without_an_end_is_never_expected)
{
    (void)start_error_say(&run.failure, "step 3: A: it does not get on");
    assert_false(lab_run_is_expected(&run));
    char *text = text_in(LAB_ENGLISH);
    assert_has(text, "it did not come to its end (step 3: A: it does not get on)\n");
    free(text);
}

TEST(json_has_it_all)
{
    char *text = render_json(&run, LAB_CHINESE);
    json_t *whole = text ? json_loads(text, 0, NULL) : NULL;
    json_t *steps = json_object_get(whole, "steps");
    json_t *first = json_array_get(steps, 0);
    json_t *second = json_array_get(steps, 1);
    json_t *call = json_array_get(json_object_get(first, "calls"), 0);
    json_t *verdict = json_object_get(whole, "verdict");

    assert_non_null(whole);
    assert_string_equal(json_string_value(json_object_get(whole, "title")), "标题");
    assert_int_equal(json_array_size(steps), 2);
    assert_string_equal(json_string_value(json_object_get(first, "actor")), "B");
    assert_string_equal(json_string_value(json_object_get(call, "command")), set_command);
    assert_string_equal(json_string_value(json_object_get(call, "reply")), set_reply);
    assert_true(json_is_null(json_object_get(second, "actor")));
    assert_int_equal(json_integer_value(json_object_get(second, "stock")), -1);
    assert_string_equal(json_string_value(json_object_get(second, "breaks")), "oversold");
    assert_true(json_is_true(json_object_get(verdict, "isExpected")));
    assert_int_equal(json_array_size(json_object_get(verdict, "expected")), 1);
    json_decref(whole);
    free(text);
}

FIXTURE(set_up, NULL);
