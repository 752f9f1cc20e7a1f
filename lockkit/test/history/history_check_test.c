/*
 * The checker against doctored histories: each row is a small history with one fault, or with
 * something that only looks like one. Times are milliseconds here.
 */
#include "history/judge.h"
#include "test/support/testing.h"

enum { TEXT_MAX = 1024, STUCK_MS = 1000 };
#define NONE CHECK_COUNT

/*
 * A history in short: steps with ";" between. "T PID +KIND TOKEN E" takes the key and is good until E,
 * "T PID -KIND TOKEN" gives it back, and others are "T PID STEP KIND TOKEN STATUS D E …", D what it took.
 * "LOOKS T T..." are looks of an observer, each of 1; "KEY" says that it watches the key. Any other one is
 * a line as it is, but for T.
 */
struct doctored {
    const char *what;
    enum history_check_id finding; /* NONE: nothing is wrong */
    const char *text;
};

static const struct doctored rows[] = {
    {"one after the other", NONE,
     "10 1 +mutex a 40; 20 1 -mutex a; 21 2 +mutex b 50; 30 2 -mutex b"},
    {"both at once", CHECK_EXCLUSION,
     "10 1 +mutex a 40; 15 2 +mutex b 50; 20 1 -mutex a; 30 2 -mutex b"},
    {"both at once, lines out of order", CHECK_EXCLUSION,
     "30 2 -mutex b; 20 1 -mutex a; 15 2 +mutex b 50; 10 1 +mutex a 40"},
    {"different keys", NONE,
     "10 1 acquire mutex x a ok ends=40000000; 11 2 acquire mutex y b ok ends=40000000"},
    {"the first one's lease had ended", NONE,
     "10 1 +mutex a 14; 15 2 +mutex b 50; 20 1 -mutex a; 30 2 -mutex b"},
    {"the lease was lost before the acquire was told", NONE,
     "10 1 +mutex a 40; 15 2 lost mutex b lost 0 0; 16 2 +mutex b 0"},
    {"the lease had been renewed", CHECK_EXCLUSION,
     "10 1 +mutex a 14; 12 1 renew mutex a ok 1 40; 15 2 +mutex b 50"},
    {"the one before was asked to be renewed in time, and the answer came late", CHECK_EXCLUSION,
     "10 1 +mutex a 14; 16 1 renew mutex a ok 3 40; 15 2 +mutex b 50"},
    {"a permit's lease was cut short", NONE,
     "1 0 limit permits k 1; 10 1 +permits a 40; 12 1 renew permits a ok 1 14; "
     "15 2 +permits b 50"},
    {"a renewal that came after the lease renews nothing", NONE,
     "10 1 +mutex a 14; 16 1 renew mutex a ok 1 40; 15 2 +mutex b 50"},
    {"the first one was killed soon after, and may have given it back before", NONE,
     "10 1 +mutex a 40; 20 1 mark killed; 15 2 +mutex b 50"},
    {"the first one was killed soon after, but renewed meanwhile", CHECK_EXCLUSION,
     "10 1 +mutex a 40; 18 1 renew mutex a ok 1 48; 20 1 mark killed; 15 2 +mutex b 50"},
    {"the first one was killed", NONE, "10 1 +mutex a 40; 12 1 mark killed; 15 2 +mutex b 50"},
    {"the overlap is while the release is under way", NONE,
     "10 1 +mutex a 40; 20 1 release mutex a ok 8 0 count=0; 15 2 +mutex b 50"},
    {"an acquire without an answer is no certain hold", NONE,
     "10 1 acquire mutex a unknown 1 40 count=0; 15 2 +mutex b 50"},
    {"a third one beside the one that reaches furthest", CHECK_EXCLUSION,
     "10 1 +mutex a 90; 50 1 -mutex a; 51 2 +mutex b 90; 60 3 +mutex c 90"},
    {"readers together", NONE, "10 1 +read a 40; 12 2 +read b 40"},
    {"a writer beside a reader", CHECK_EXCLUSION, "10 1 +read a 40; 12 2 +write b:write 40"},
    {"a writer beside the shorter of two readers", CHECK_EXCLUSION,
     "10 1 +read a 40; 11 2 +read b 20; 30 3 +write c:write 40"},
    {"a reader beside a writer", CHECK_EXCLUSION, "10 1 +write a:write 40; 12 2 +read b 40"},
    {"a writer who reads as well", NONE, "10 1 +write a:write 40; 12 1 +read a 40"},
    {"a stranger beside a writer who reads as well", CHECK_EXCLUSION,
     "10 1 +write a:write 40; 12 1 +read a 40; 14 2 +write b:write 40"},

    {"a reader who became a writer", NONE, "10 1 +read a:1 90; 12 1 +write a:1:1:write 40"},
    {"a stranger beside a reader who became a writer", CHECK_EXCLUSION,
     "10 1 +read a:1 90; 12 1 +write a:1:1:write 40; 14 2 +read a:2 40"},
    {"two readers who became writers", CHECK_EXCLUSION,
     "10 1 +read a:1 90; 12 1 +write a:1:1:write 40; 14 1 +write a:11:1:write 40"},

    {"taken twice and given back twice", NONE,
     "10 1 +reentrant a 40; 12 1 acquire reentrant a ok 1 42 count=2; "
     "14 1 release reentrant a ok 1 0 count=1; 16 1 -reentrant a"},
    {"given back once is still held", CHECK_EXCLUSION,
     "10 1 +reentrant a 40; 12 1 acquire reentrant a ok 1 42 count=2; "
     "14 1 release reentrant a ok 1 0 count=1; 20 2 +reentrant b 60"},
    {"re-entry that does not count", CHECK_DEPTH,
     "10 1 +reentrant a 40; 12 1 acquire reentrant a ok 1 42 count=3"},
    {"a release that counts two", CHECK_DEPTH,
     "10 1 +reentrant a 40; 12 1 acquire reentrant a ok 1 42 count=2; 16 1 -reentrant a"},

    {"fences grow", NONE,
     "10 1 acquire fenced a ok 1 14 fence=1 count=1; "
     "20 2 acquire fenced b ok 1 24 fence=2 count=1"},
    {"a fence twice", CHECK_FENCE,
     "10 1 acquire fenced a ok 1 14 fence=7 count=1; "
     "20 2 acquire fenced b ok 1 24 fence=7 count=1"},
    {"a fence that fell, and one in between", CHECK_FENCE,
     "10 1 acquire fenced a ok 1 14 fence=7 count=1; "
     "20 2 acquire fenced b ok 1 24 fence=8 count=1; "
     "30 3 acquire fenced c ok 1 34 fence=6 count=1"},
    {"fences of acquires under way together may come either way", NONE,
     "10 1 acquire fenced a ok 1 14 fence=9 count=1; "
     "20 2 acquire fenced b ok 15 24 fence=8 count=1"},

    {"two of two permits", NONE, "1 0 limit permits k 2; 10 1 +permits a 40; 12 2 +permits b 40"},
    {"three of two permits", CHECK_PERMITS,
     "1 0 limit permits k 2; 10 1 +permits a 40; 12 2 +permits b 40; 14 3 +permits c 40"},
    {"three of two permits, but one has expired", NONE,
     "1 0 limit permits k 2; 10 1 +permits a 13; 12 2 +permits b 40; 14 3 +permits c 40"},
    {"a semaphore of two with three inside", CHECK_PERMITS,
     "1 0 limit semaphore k 2; 10 1 acquire semaphore - ok 1 0 count=2; 12 2 +semaphore - 0"},
    {"a semaphore handed on while the release is under way", NONE,
     "1 0 limit semaphore k 2; 10 1 acquire semaphore - ok 1 0 count=2; "
     "14 1 release semaphore - ok 3 0 count=2; 12 2 +semaphore - 0"},

    {"a semaphore whose holder was killed, and may have given back before", NONE,
     "1 0 limit semaphore k 2; 10 1 acquire semaphore - ok 1 0 count=2; 12 1 mark killed; "
     "15 2 +semaphore - 0"},

    {"served in the order of the queue", NONE,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 1 0; 20 1 +fair a 24; 30 2 +fair b 34"},
    {"served against the order of the queue", CHECK_FAIRNESS,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 1 0; 20 2 +fair b 24; 30 1 +fair a 34"},
    {"queued together may be served either way", NONE,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 5 0; 20 2 +fair b 24; 30 1 +fair a 34"},
    {"readers are served in any order", NONE,
     "10 1 queued read a ok 1 0; 12 2 queued read b ok 1 0; 20 2 +read b 24; 21 1 +read a 34"},
    {"a reader passes a writer", CHECK_FAIRNESS,
     "10 1 queued write a:write ok 1 0; 12 2 queued read b ok 1 0; 20 2 +read b 24; "
     "30 1 +write a:write 34"},
    {"a writer passes a reader", CHECK_FAIRNESS,
     "10 1 queued read a ok 1 0; 12 2 queued write b:write ok 1 0; 20 2 +write b:write 24; "
     "30 1 +read a 34"},
    {"who lost the place counts from the new one", NONE,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 1 0; 15 1 queued fair a ok 1 0; "
     "20 2 +fair b 24; 30 1 +fair a 34"},
    {"served in time, but told after the lease", NONE,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 1 0; 20 2 +fair b 24; 30 1 +fair a 19"},
    {"who gave up is not waited for", NONE,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 1 0; 20 2 +fair b 24"},

    {"a renewed hold is lost for nothing", CHECK_RENEWAL,
     "10 1 acquire mutex a ok 1 40 count=1 renewed=1; 40 1 lost mutex a lost 0 0"},
    {"a renewed hold is lost by a pause", NONE,
     "10 1 acquire mutex a ok 1 40 count=1 renewed=1; 60 1 lost mutex a lost 0 0; "
     "20 1 mark paused; 58 1 mark resumed"},
    {"the pause was somebody else's", CHECK_RENEWAL,
     "10 1 acquire mutex a ok 1 40 count=1 renewed=1; 60 1 lost mutex a lost 0 0; "
     "20 2 mark paused; 58 2 mark resumed"},
    {"the pause was over before the last renewal", CHECK_RENEWAL,
     "10 1 acquire mutex a ok 1 40 count=1 renewed=1; 30 1 renew mutex a ok 1 60; "
     "60 1 lost mutex a lost 0 0; 20 1 mark paused; 25 1 mark resumed"},
    {"the pause delayed a renewal's answer", NONE,
     "10 1 acquire mutex a ok 1 40 count=1 renewed=1; 60 1 renew mutex a ok 40 50; "
     "61 1 lost mutex a lost 0 0; 22 1 mark paused; 59 1 mark resumed"},
    {"the server was away", NONE,
     "10 1 acquire mutex a ok 1 40 count=1 renewed=1; 60 1 lost mutex a lost 0 0; 20 0 mark cut; "
     "58 0 mark healed"},
    {"the server was away, and a shorter pause ended within", NONE,
     "30 1 acquire mutex a ok 1 60 count=1 renewed=1; 60 1 lost mutex a lost 0 0; 10 0 mark "
     "paused; "
     "15 0 mark paused; 20 0 mark resumed; 58 0 mark resumed"},
    {"a hold that is not renewed may end", NONE, "10 1 +mutex a 40; 40 1 lost mutex a lost 0 0"},

    {"waiting beside a free lock", CHECK_LIVENESS,
     "10 1 +mutex a 40; 20 1 -mutex a; 2020 2 acquire mutex - busy 2000 0"},
    {"waiting beside a free lock, and served in the end", CHECK_LIVENESS,
     "10 1 +mutex a 40; 20 1 -mutex a; 2020 2 acquire mutex b ok 2000 2060 count=1"},
    {"waiting while others hold it in turn", NONE,
     "10 1 +mutex a 3000; 900 1 -mutex a; 1100 3 +mutex c 3000; 2019 3 -mutex c; "
     "2020 2 acquire mutex - busy 2000 0"},
    {"waiting beside one who was served at once, though another waits for longer", NONE,
     "10 1 +mutex a 3000; 3100 3 acquire mutex c ok 3098 4000 count=1; "
     "2020 2 acquire mutex - busy 2000 0; 12 1 mark paused; 4000 1 mark resumed"},
    {"waiting for one whose answer comes late", NONE,
     "3100 3 acquire mutex c ok 3098 4000 count=1; 2020 2 acquire mutex - busy 2000 0; "
     "10 3 mark paused; 3000 3 mark resumed"},
    {"waiting for one who was never told, and was seen", NONE,
     "1500 9 seen holder z ok 1480 1500; 10 1 +mutex a 40; 20 1 -mutex a; "
     "2020 2 acquire mutex - busy 2000 0; 9 3 mark killed; LOOKS 21 1500; KEY"},
    {"waiting for a dead holder's lease", NONE,
     "10 1 +mutex a 3000; 12 1 mark killed; 2020 2 acquire mutex - busy 2000 0"},
    {"waiting for what an unanswered acquire may hold", NONE,
     "10 1 acquire mutex a unknown 1 3000; 2020 2 acquire mutex - busy 2000 0"},
    {"waiting while paused", NONE,
     "2020 2 acquire mutex - busy 2000 0; 100 2 mark paused; 2000 2 mark resumed; "
     "10 1 +mutex a 15"},

    {"a latch passed at its time", NONE,
     "1 0 limit latch k 2; 10 1 release latch - ok 1 0 count=1; "
     "12 2 release latch - ok 1 0 count=1; 13 3 acquire latch - ok 5 0"},
    {"a latch passed too early", CHECK_LATCH,
     "1 0 limit latch k 2; 10 1 release latch - ok 1 0 count=1; "
     "16 2 release latch - ok 1 0 count=1; 13 3 acquire latch - ok 5 0"},
    {"a latch passed that was never opened", CHECK_LATCH,
     "1 0 limit latch k 2; 10 1 release latch - ok 1 0 count=1; 13 3 acquire latch - ok 5 0"},

    {"a latch passed that one who was killed may have opened", NONE,
     "1 0 limit latch k 2; 10 1 release latch - ok 1 0 count=1; 13 3 acquire latch - ok 5 0; "
     "12 2 mark killed"},

    {"the key names the holder as long as it holds", NONE,
     "10 1 +mutex a 40; 20 1 -mutex a; LOOKS 9 12 15 18 21; 18 9 seen holder a ok 7 40; KEY"},
    {"looks that reach into the time before and after prove nothing", NONE,
     "10 1 +mutex a 40; 13 1 -mutex a; LOOKS 10 13; KEY"},
    {"the key does not name the holder", CHECK_NAMED,
     "10 1 +mutex a 40; 20 1 -mutex a; LOOKS 9 12 15 18 21; KEY"},
    {"the key names another one in between", CHECK_NAMED,
     "10 1 +mutex a 40; 30 1 -mutex a; LOOKS 9 12 15 18 21; 12 9 seen holder a ok 1 40; KEY; "
     "21 9 seen holder a ok 4 40; 15 9 seen holder b ok 1 30; 16 2 acquire mutex b unknown 3 30"},
    {"a key that is not watched is not named", NONE,
     "10 1 +mutex a 40; 20 1 -mutex a; LOOKS 9 12 15 18 21"},
    {"nor need it be after the lease", NONE, "10 1 +mutex a 14; 20 1 -mutex a; LOOKS 9 17; KEY"},
    {"the name stays after the release", CHECK_GONE,
     "10 1 +mutex a 40; 14 1 -mutex a; LOOKS 12 17; 17 9 seen holder a ok 6 40; KEY"},
    {"a look that began before the release was answered may see the name", NONE,
     "10 1 +mutex a 40; 16 1 release mutex a ok 4 0 count=0; LOOKS 12 17; KEY; "
     "17 9 seen holder a ok 6 40"},
    {"the name comes again after the release, by a link that had been held up", NONE,
     "10 1 acquire mutex a ok 9 40 count=1; 14 1 -mutex a; LOOKS 12 17; 12 9 seen holder a ok 1 "
     "40; "
     "17 9 seen holder a ok 1 40; 4 1 mark cut; 16 1 mark healed; KEY"},
    {"the key names one whom nobody knows", CHECK_ORPHANS,
     "LOOKS 12; 12 9 seen holder a ok 1 40; KEY"},
    {"the key names one whom nobody knows, for one was killed", NONE,
     "LOOKS 12; 12 9 seen holder a ok 1 40; 9 1 mark killed; KEY"},
    {"one who was killed holds longer than its lease", CHECK_ORPHANS,
     "LOOKS 12 42 45; 45 9 seen holder a ok 34 40; 9 1 mark killed; KEY"},
    {"an acquire without an answer holds until its lease ends", NONE,
     "LOOKS 12 40; 10 1 acquire mutex a unknown 1 40; 40 9 seen holder a ok 29 40; KEY"},
    {"an acquire without an answer is prolonged", CHECK_ORPHANS,
     "LOOKS 12 42; 10 1 acquire mutex a unknown 1 40; 42 9 seen holder a ok 31 40; KEY"},
    {"told that it is not held, and it is", CHECK_ORPHANS,
     "LOOKS 12 15; 10 1 acquire mutex a busy 9 0; 15 9 seen holder a ok 4 40; KEY"},
    {"taken for a moment, and given back before it is told that it is not held", NONE,
     "LOOKS 5 11; 10 1 acquire mutex a lost 9 0; 11 9 seen holder a ok 7 40; KEY; "
     "3 1 mark paused; 9 1 mark resumed"},
    {"taken, and answered too late for nothing", CHECK_RENEWAL, "10 1 acquire mutex a lost 9 0"},
    {"an undo that is owed is made up for within a second of calm", NONE,
     "LOOKS 12 900; 10 1 acquire mutex a unknown 1 5000; 900 9 seen holder a ok 889 5000; KEY"},
    {"an undo that is owed for ever", CHECK_ORPHANS,
     "LOOKS 12 2900; 10 1 acquire mutex a unknown 1 5000; 2900 9 seen holder a ok 2889 5000; KEY; "
     "2500 1 renew mutex z ok 1 1600"},
    {"an undo that is owed by one who has ended", NONE,
     "LOOKS 12 2900; 10 1 acquire mutex a unknown 1 5000; 2900 9 seen holder a ok 2889 5000; KEY"},
    {"an undo that is owed, and the link was cut until now", NONE,
     "LOOKS 12 2900; 10 1 acquire mutex a unknown 1 5000; 2900 9 seen holder a ok 2889 5000; KEY; "
     "9 1 mark cut; 1500 1 mark healed; 2800 1 renew mutex z ok 1 1600"},
    {"told that it is not held after a link was cut", NONE,
     "LOOKS 12 15; 10 1 acquire mutex a cancelled 9 0; 15 9 seen holder a ok 4 40; "
     "3 1 mark cut; 6 1 mark healed; KEY"},
    {"a lock without an end", CHECK_ORPHANS,
     "10 1 +mutex a 40; LOOKS 12; 12 9 seen holder a ok 1 0 ends=-1; KEY"},
    {"a counter that grows with the fences", NONE,
     "10 1 acquire fenced a ok 1 11 fence=7 count=1; LOOKS 5 13 25; 13 9 seen counter - ok 1 0 "
     "fence=7; "
     "20 2 acquire fenced b ok 1 21 fence=8 count=1; 25 9 seen counter - ok 1 0 fence=8"},
    {"a counter behind the last fence", CHECK_FENCE,
     "10 1 acquire fenced a ok 1 11 fence=7 count=1; LOOKS 13; 13 9 seen counter - ok 1 0 fence=6"},
    {"a fence that the counter had passed before", CHECK_FENCE,
     "LOOKS 8; 8 9 seen counter - ok 1 0 fence=9; 12 1 acquire fenced a ok 1 12 fence=9 count=1"},
    {"a counter that falls", CHECK_FENCE,
     "LOOKS 8 13; 8 9 seen counter - ok 1 0 fence=9; 13 9 seen counter - ok 1 0 fence=8"},

    {"the server forgot the one before", NONE,
     "10 1 +mutex a 40; 12 0 mark emptied; 13 0 mark restarted; 15 2 +mutex b 50; 20 1 -mutex a"},
    {"the server forgot nothing of both", CHECK_EXCLUSION,
     "10 1 +mutex a 40; 5 0 mark emptied; 6 0 mark restarted; 15 2 +mutex b 50; 20 1 -mutex a"},
    {"the server forgot one who asked before it was away", NONE,
     "14 1 acquire mutex a ok 5 40 count=1; 10 0 mark emptied; 13 0 mark restarted; 15 2 +mutex b "
     "50"},
    {"nor does a fence begin anew then", CHECK_FENCE,
     "10 1 acquire fenced a ok 1 14 fence=2 count=1; 15 0 mark emptied; 16 0 mark restarted; "
     "20 2 acquire fenced b ok 1 24 fence=1 count=1"},
    {"places in a queue that the server forgot", NONE,
     "10 1 queued fair a ok 1 0; 12 2 queued fair b ok 1 0; 14 0 mark emptied; 15 0 mark "
     "restarted; "
     "20 2 +fair b 24; 30 1 +fair a 34"},

    {"a key with a TTL is left", NONE, "90 0 left-key k hash 250"},
    {"a key without TTL is left", CHECK_LEFTOVERS, "90 0 left-key k hash -1"},
    {"a subscription is left", CHECK_LEFTOVERS, "90 0 left-channel c 1"},
    {"no subscription is left", NONE, "90 0 left-channel c 0"},
};

/* Looks of one millisecond, and what says that a key is watched. */
static bool write_looks(FILE *out, const char *step)
{
    char at[8];
    int len = 0;

    step += strspn(step, " ");
    if (strcmp(step, "KEY") == 0) return fputs("1 9 seen counter k - ok\n", out) >= 0;
    if (strncmp(step, "LOOKS", 5) != 0) return false;
    for (step += 5; sscanf(step, "%7s%n", at, &len) == 1; step += len)
        (void)fprintf(out, "%s000000 9 look - - - ok took=1000000\n", at);
    return true;
}

static void write_step(FILE *out, const char *step)
{
    char at[8], pid[8], verb[16], kind[16], token[16], status[16], took[8], ends[8];
    int len = 0;

    if (write_looks(out, step)) return;
    if (sscanf(step, "%7s %7s +%15s %15s %7s", at, pid, kind, token, ends) == 5)
        (void)fprintf(out, "%s000000 %s acquire %s k %s ok took=1000000 ends=%s000000 count=1\n",
                      at, pid, kind, token, ends);
    else if (sscanf(step, "%7s %7s -%15s %15s", at, pid, kind, token) == 4)
        (void)fprintf(out, "%s000000 %s release %s k %s ok took=1000000 ends=0 count=0\n", at, pid,
                      kind, token);
    else if (sscanf(step, "%7s %7s %15s %15s %15s %15s %7[0-9] %7[0-9]%n", at, pid, verb, kind,
                    token, status, took, ends, &len) == 8)
        (void)fprintf(out, "%s000000 %s %s %s k %s %s took=%s000000 ends=%s000000%s\n", at, pid,
                      verb, kind, token, status, took, ends, step + len);
    else if (sscanf(step, "%7s%n", at, &len) == 1)
        (void)fprintf(out, "%s000000%s\n", at, step + len);
}

static unsigned long read_text(struct history *history, char *text, const char **out_why)
{
    FILE *file = fmemopen(text, strlen(text), "r");

    assert_non_null(file);
    unsigned long line = history_read(history, file, out_why);
    (void)fclose(file);
    return line;
}

/* Of a history in short. */
static unsigned long read_short(struct history *history, const char *text, const char **out_why)
{
    char steps[TEXT_MAX], wide[TEXT_MAX];
    char *rest = NULL;
    FILE *out = fmemopen(wide, sizeof wide, "w");

    assert_non_null(out);
    (void)snprintf(steps, sizeof steps, "%s", text);
    for (char *step = strtok_r(steps, ";", &rest); step; step = strtok_r(NULL, ";", &rest))
        write_step(out, step);
    (void)fclose(out);
    return read_text(history, wide, out_why);
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
    char drawn[8192];
    FILE *drawing = fmemopen(drawn, sizeof drawn, "w");
    const struct history_check_options options = {
        .stuck_ms = STUCK_MS, .drawing = drawing, .picture = drawing};

    assert_non_null(drawing);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct history history = {0};
        struct history_report report;
        const char *why = NULL;
        unsigned long line = read_short(&history, rows[i].text, &why);

        if (line) fail_msg("%s: line %lu: %s", rows[i].what, line, why);
        assert_true(history_check(&history, &options, &report));
        for (int id = 0; id < CHECK_COUNT; id++)
            expect_finding(&rows[i], (enum history_check_id)id, &report);
        if (ftell(drawing) > 0 && rows[i].finding == NONE) fail_msg("%s: drawn", rows[i].what);
        rewind(drawing);
        history_done(&history);
    }
    (void)fclose(drawing);
}

TEST(what_led_to_the_first_finding_is_drawn)
{
    static const char text[] = "1 3 +mutex z 9; 3 3 -mutex z; 10 1 +mutex a 40; 12 1 mark cut; "
                               "15 2 +mutex b 50; 16 1 renew mutex a ok 1 60; 20 1 -mutex a";
    static const char wanted[] =
        "  what led to it, on k; ms, \"|\": surely held\n"
        "              A: a                  B: b                  C: z                  \n"
        "       1.000                                              acquire ok\n"
        "       3.000                                              release ok\n"
        "      10.000  acquire ok                                  \n"
        "      12.000  was cut                                     \n"
        "      15.000  |                     acquire ok               <- here\n";
    struct history history = {0};
    struct history_report report;
    const char *why = NULL;
    char drawn[4096] = "", picture[8192] = "";
    struct history_check_options options = {.stuck_ms = STUCK_MS,
                                            .drawing = fmemopen(drawn, sizeof drawn, "w"),
                                            .picture = fmemopen(picture, sizeof picture, "w")};

    assert_true(options.drawing && options.picture);
    assert_int_equal(read_short(&history, text, &why), 0);
    assert_true(history_check(&history, &options, &report));
    (void)fclose(options.drawing);
    (void)fclose(options.picture);
    assert_string_equal(drawn, wanted);
    assert_int_equal(strncmp(picture, "<svg ", 5), 0);
    assert_non_null(strstr(picture, "<text x=\"10.0\" y=\"85\">B: b</text>"));
    assert_non_null(strstr(picture, "acquire ok</text>"));
    assert_string_equal(picture + strlen(picture) - 7, "</svg>\n");
    history_done(&history);
}

TEST(what_a_sleeper_believed_is_only_counted)
{
    struct history history = {0};
    struct history_report report;
    const char *why = NULL;

    assert_int_equal(
        read_short(&history, "10 1 +mutex a 14; 15 2 +mutex b 50; 20 1 -mutex a", &why), 0);
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
