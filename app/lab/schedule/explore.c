/*
 * See explore.h. Breadth first: a level has all schedules of one length that led to a new state; each is played
 * again with one choice more. One thread, that of the lab; the actors are threads, too.
 */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "guards/base/guard.h"
#include "lab/lab.h"
#include "lab/show/render.h"
#include "lab/stage/program.h"

enum { SEEN_MAX = 1 << 20, CHOICES_SIZE = 2 * SCHEDULE_ENABLED_MAX + 1 };

struct node {
    char text[SCHEDULE_SIZE];
    char choices[CHOICES_SIZE]; /* one after the other */
    unsigned faults, length;
    unsigned broken; /* a bit of each promise */
    struct schedule_key key, past;
};

struct level {
    struct node *nodes; /* owned */
    size_t count, room;
};

struct search {
    struct explore *explore;
    struct lab *lab;
    struct level now, next;
    const struct node *from; /* what is played has gone there before */
    struct level *ahead;     /* owned; by length: where plays have been, and nobody has asked yet */
    struct {
        struct schedule_key key;
        unsigned faults; /* so many are enough to get there */
        bool is_used;
    } * seen; /* owned: a hash table; full: what is new is not added */
    int64_t until_ms;
};

/* ---- states -------------------------------------------------------------------------------------- */

static bool is_equal(const struct schedule_key *one, const struct schedule_key *other)
{
    return one->high == other->high && one->low == other->low;
}

/* Where it is in the table, or would be. */
static size_t place_of(const struct search *self, const struct node *node)
{
    size_t at = node->key.low % SEEN_MAX;

    while (self->seen[at].is_used && !is_equal(&self->seen[at].key, &node->key))
        at = (at + 1) % SEEN_MAX;
    return at;
}

/* And by no more faults. */
static bool was_seen(const struct search *self, const struct node *node)
{
    size_t at = place_of(self, node);

    return self->seen[at].is_used && self->seen[at].faults <= node->faults;
}

/* Whether it is new, or comes by fewer faults than before. */
static bool is_news(struct search *self, const struct node *node)
{
    size_t at = place_of(self, node);

    if (was_seen(self, node)) return false;
    if (self->explore->states > SEEN_MAX / 2) return true;
    self->explore->states += !self->seen[at].is_used;
    self->seen[at].is_used = true;
    self->seen[at].key = node->key;
    self->seen[at].faults = node->faults;
    return true;
}

static bool add_node(struct level *level, const struct node *node)
{
    if (level->count == level->room) {
        size_t room = level->room ? 2 * level->room : 64;
        struct node *nodes = realloc(level->nodes, room * sizeof *nodes);

        if (!nodes) return false;
        level->nodes = nodes;
        level->room = room;
    }
    level->nodes[level->count++] = *node;
    return true;
}

static void drop_level(struct level *level)
{
    free(level->nodes);
    *level = (struct level){.nodes = NULL};
}

/* ---- one play ------------------------------------------------------------------------------------ */

static bool is_trouble(struct explore *explore, const char *text, const char *what)
{
    explore->verdict = EXPLORE_TROUBLE;
    return start_error_say(&explore->trouble, "%s: %s", text, what);
}

static bool was_found(const struct explore *explore, enum lab_promise promise)
{
    for (size_t i = 0; i < explore->found_count; i++) {
        if (explore->found[i].promise == promise) return true;
    }
    return false;
}

/* A promise that was broken for the first time is noted. */
static void note_breaks(struct explore *explore, const struct node *node)
{
    for (enum lab_promise promise = 0; promise < LAB_PROMISE_COUNT; promise++) {
        struct explore_found *found = &explore->found[explore->found_count];

        if (!(node->broken & (1U << promise)) || was_found(explore, promise)) continue;
        *found = (struct explore_found){
            .promise = promise, .length = node->length, .faults = node->faults};
        (void)snprintf(found->text, sizeof found->text, "%s", node->text);
        explore->found_count++;
    }
}

/* So far it must be what it was before. */
static bool is_as_before(const struct search *self, const struct schedule *play)
{
    struct schedule_key past;

    schedule_state_past(play->run, self->from->length, &past);
    return is_equal(&past, &self->from->past);
}

/* Where a play is now. It goes on to its end, as it would unseen; who comes there later is spared a play. */
static bool note_state(struct schedule *play, void *arg)
{
    struct search *self = arg;
    struct node node = {
        .faults = play->faults, .length = (unsigned)play->run->step_count, .key = play->key};
    char *end = node.choices;

    (void)snprintf(node.text, sizeof node.text, "%s", play->went);
    for (size_t i = 0; i < play->choice_count; i++)
        end = stpcpy(end, play->choices[i].text);
    schedule_state_past(play->run, node.length, &node.past);
    for (size_t i = 0; i < play->run->break_count; i++)
        node.broken |= 1U << play->run->breaks[i].promise;
    return add_node(&self->ahead[node.length], &node) && node.length < self->explore->depth &&
           (self->explore->is_plain || !was_seen(self, &node));
}

/* Of those ahead; it is taken from there. */
static bool take_node(struct search *self, const char *text, size_t length, struct node *out)
{
    struct level *ahead = &self->ahead[length];

    for (size_t i = 0; i < ahead->count; i++) {
        if (strcmp(ahead->nodes[i].text, text) != 0) continue;
        *out = ahead->nodes[i];
        ahead->nodes[i] = ahead->nodes[--ahead->count];
        return true;
    }
    return false;
}

/* False: it did not come to its end; is it over, or is that trouble? */
static bool play_one(struct search *self, struct schedule *play)
{
    bool is_good = schedule_play(play, self->lab);

    self->explore->plays++;
    if (!is_good && !tap_is_interrupted())
        (void)is_trouble(self->explore, play->went,
                         play->run ? play->run->failure.text : "out of memory");
    return is_good;
}

static bool play_to(struct search *self, const char *text)
{
    struct explore *explore = self->explore;
    struct schedule play = {.guard = explore->guard,
                            .text = text,
                            .actors = explore->actors,
                            .units = explore->units,
                            .in_threads = true,
                            .seen_from = explore->reached > 1 ? explore->reached - 1 : 0,
                            .has_key = true,
                            .at = note_state,
                            .at_arg = self};
    bool is_good = play_one(self, &play);

    if (is_good && (text[play.len] || !is_as_before(self, &play)))
        is_good = is_trouble(explore, text, "it does not go as before, when it is played again");
    schedule_done(&play);
    return is_good;
}

/* Get to where the node's schedule and that choice lead; it joins the next level if that is new. */
static bool try(struct search *self, const struct node *from, const char *choice, size_t len)
{
    struct explore *explore = self->explore;
    struct node node;
    char text[SCHEDULE_SIZE + 2];

    (void)snprintf(text, sizeof text, "%s%.*s", from->text, (int)len, choice);
    self->from = from;
    if (!take_node(self, text, explore->reached, &node) &&
        !(play_to(self, text) && take_node(self, text, explore->reached, &node)))
        return false;
    explore->schedules++;
    note_breaks(explore, &node);
    if (!is_news(self, &node) && !explore->is_plain) {
        explore->pruned++;
        return true;
    }
    return add_node(&self->next, &node) || is_trouble(explore, text, "out of memory");
}

/* ---- all of them --------------------------------------------------------------------------------- */

/* Who has done nothing yet is like the one before him, who has not either: that one comes first. */
static bool is_twin(const struct search *self, const struct node *node, char actor)
{
    const struct program *program = program_of(self->explore->guard);
    const char both[] = {actor, (char)(actor - 1), '\0'};

    if ((program && program->task->roles[0]) || self->explore->guard->needs ||
        self->explore->guard->is_paid_later)
        return false;
    return actor > 'A' && actor <= 'D' && !strpbrk(node->text, both);
}

/* All choices that make a schedule of so many faults. False: it is over. */
static bool try_node(struct search *self, const struct node *node, unsigned faults)
{
    const struct explore *explore = self->explore;
    size_t len = 0;

    for (const char *choice = node->choices; *choice; choice += len) {
        char fault = schedule_choice_fault(choice);

        len = schedule_choice_length(choice);
        if (node->faults + (fault != 0) != faults || (fault && !strchr(explore->kinds, fault)))
            continue;
        if (is_twin(self, node, choice[len - 1]) ||
            is_twin(self, node, (char)(choice[len - 1] - 'a' + 'A')))
            continue;
        if (clock_mono_ms() >= self->until_ms || tap_is_interrupted()) return false;
        if (explore->goes_on && !explore->goes_on(explore, explore->goes_on_arg)) return false;
        if (!try(self, node, choice, len)) return false;
        if (explore->found_count > 0 && !explore->is_all) return false;
    }
    return true;
}

/* Fewer faults first. */
static bool try_level(struct search *self)
{
    for (unsigned faults = 0; faults <= self->explore->faults; faults++) {
        for (size_t i = 0; i < self->now.count; i++) {
            if (!try_node(self, &self->now.nodes[i], faults)) return false;
        }
    }
    return true;
}

/* What was found, played by processes that are killed; NULL: it does not break the promise then. */
static char *play_again(struct search *self, const struct explore_found *found)
{
    struct schedule play = {.guard = self->explore->guard,
                            .text = found->text,
                            .actors = self->explore->actors,
                            .units = self->explore->units};
    bool is_good = false;
    char *json = NULL;

    if (schedule_play(&play, self->lab)) {
        const struct lab_break *again = lab_run_break(play.run, found->promise);

        is_good = again && again->step == found->length;
    }
    if (is_good) json = schedule_json(&play, LAB_ENGLISH);
    schedule_done(&play);
    return json;
}

/* Twice more, and the same must come of it. False: not so, or interrupted. */
static bool confirm(struct search *self, const struct explore_found *found)
{
    char *first = play_again(self, found);
    char *second = play_again(self, found);
    size_t same = 0;
    bool is_good = first && second && strcmp(first, second) == 0;

    while (first && second && first[same] && first[same] == second[same])
        same++;
    if (!is_good && !tap_is_interrupted())
        (void)is_trouble(self->explore, found->text,
                         first && second ? second + same
                                         : "it does not break the promise when it is repeated");
    free(first);
    free(second);
    return is_good;
}

/* The first actor, and then the second, each to its end: a program must do what its task is, or it is trouble. */
static bool is_up_to_its_task(struct search *self, const struct program *program)
{
    struct explore *explore = self->explore;
    char text[2 * SCHEDULE_CHOICES_MAX + 1] = "";
    size_t len = 0;
    bool is_good = true;

    for (char actor = 'A'; is_good && actor <= 'B'; actor++) {
        struct schedule play = {.guard = explore->guard, .text = text, .actors = 2, .units = 1};

        memset(text + len, actor, SCHEDULE_CHOICES_MAX - len);
        is_good = play_one(self, &play);
        len = play.len;
        text[len] = '\0';
        if (is_good && actor == 'B') explore->refusal = task_refusal(program->task, play.run);
        if (explore->refusal) is_good = is_trouble(explore, text, explore->refusal->en);
        schedule_done(&play);
    }
    return is_good;
}

/* What was not confirmed is not found. */
static void confirm_all(struct search *self)
{
    struct explore *explore = self->explore;
    size_t sure = 0;

    while (sure < explore->found_count && confirm(self, &explore->found[sure]))
        sure++;
    if (explore->verdict == EXPLORE_TROUBLE) return;
    explore->is_finished &= sure == explore->found_count;
    explore->found_count = sure;
    if (!explore->is_finished) explore->verdict = EXPLORE_UNFINISHED;
    if (sure > 0) explore->verdict = EXPLORE_BROKEN;
}

static void search(struct search *self)
{
    struct explore *explore = self->explore;
    const struct program *program = program_of(explore->guard);
    struct node root = {.choices = ""};

    schedule_state_past(NULL, 0, &root.past);
    if (program && !is_up_to_its_task(self, program)) return;
    if (!try(self, &root, "", 0)) return;
    while (self->next.count > 0 && explore->reached < explore->depth) {
        drop_level(&self->now);
        self->now = self->next;
        self->next = (struct level){.nodes = NULL};
        drop_level(&self->ahead[explore->reached++]);
        if (!try_level(self)) return;
    }
    explore->is_finished = self->next.count == 0;
}

/* On one core, and then again on *out as before; somebody's programs start sooner side by side. */
static bool gather(struct lab *lab, const struct guard *guard, cpu_set_t *out)
{
    int core = sched_getcpu();
    cpu_set_t one;

    if (program_of(guard) || core < 0 || sched_getaffinity(0, sizeof *out, out) != 0) return false;
    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    lab_gather(lab, &one);
    return true;
}

void explore_run(struct explore *self, struct lab *lab)
{
    int64_t begin_ms = clock_mono_ms();
    struct search all = {.explore = self,
                         .lab = lab,
                         .ahead = calloc(SCHEDULE_CHOICES_MAX + 1, sizeof *all.ahead),
                         .seen = calloc(SEEN_MAX, sizeof *all.seen),
                         .until_ms = begin_ms + self->limit_ms};

    cpu_set_t cores;
    bool is_gathered = gather(lab, self->guard, &cores);

    self->verdict = EXPLORE_NONE;
    if (all.seen && all.ahead) {
        search(&all);
    } else {
        (void)is_trouble(self, self->guard->name, "out of memory");
    }
    if (is_gathered) lab_gather(lab, &cores);
    free(all.seen);
    drop_level(&all.now);
    drop_level(&all.next);
    for (size_t i = 0; all.ahead && i <= SCHEDULE_CHOICES_MAX; i++)
        drop_level(&all.ahead[i]);
    free(all.ahead);
    self->took_ms = clock_mono_ms() - begin_ms;
    if (self->verdict != EXPLORE_TROUBLE) confirm_all(&all);
}

/* ---- telling ------------------------------------------------------------------------------------- */

/* A word of a command line. */
static void print_quoted(FILE *out, const char *word)
{
    (void)fputc('\'', out);
    for (; *word; word++)
        (void)(*word == '\'' ? fputs("'\\''", out) : fputc(*word, out));
    (void)fputc('\'', out);
}

static char *command_of(const struct explore *self, const struct program *program)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    (void)fputs("seckillctl lab play --program ", out);
    print_quoted(out, program->command);
    if (program->task != task_at(0)) (void)fprintf(out, " --exercise %s", program->task->name);
    if (self->actors != 2) (void)fprintf(out, " --actors %u", self->actors);
    if (self->units != 1) (void)fprintf(out, " --units %lld", self->units);
    (void)fputs(" --schedule ", out);
    print_quoted(out, self->found[0].text);
    return fclose(out) == 0 ? text : NULL;
}

char *explore_url(const struct explore *self)
{
    const struct program *program = program_of(self->guard);
    char coded[3 * SCHEDULE_SIZE];
    char *end = coded;
    char *url = NULL;

    if (self->found_count == 0) return NULL;
    if (program) return command_of(self, program);
    for (const char *at = self->found[0].text; *at; at++) {
        bool is_plain = (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');

        end += snprintf(end, 4, is_plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    *end = '\0';
    if (asprintf(&url, "/lab?run=%s&schedule=%s&units=%lld&actors=%u", self->guard->name, coded,
                 self->units, self->actors) < 0)
        return NULL;
    return url;
}

static json_t *found_of(const struct explore_found *found)
{
    return json_pack("{s:s, s:s, s:i, s:i}", "promise", lab_promise_name(found->promise),
                     "schedule", found->text, "length", (int)found->length, "faults",
                     (int)found->faults);
}

char *explore_json(const struct explore *self)
{
    static const char *const verdicts[] = {EXPLORE_VERDICT_LIST(LIST_NAME)};
    double seconds = (double)self->took_ms / 1000;
    json_t *root = self->found_count > 0 ? found_of(&self->found[0]) : json_object();
    json_t *more = json_array();
    char *url = explore_url(self);

    for (size_t i = 1; i < self->found_count; i++)
        (void)json_array_append_new(more, found_of(&self->found[i]));
    (void)json_object_update_new(
        root,
        json_pack(
            "{s:s, s:s, s:b, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:{s:i, s:I, s:i, s:i, s:s}, s:o, "
            "s:s?, s:o}",
            "guard", self->guard->name, "verdict", verdicts[self->verdict], "finished",
            self->is_finished, "reached", (int)self->reached, "plays", (json_int_t)self->plays,
            "schedules", (json_int_t)self->schedules, "states", (json_int_t)self->states, "pruned",
            (json_int_t)self->pruned, "seconds", seconds, "schedulesPerSecond",
            seconds > 0 ? (double)self->schedules / seconds : 0, "bounds", "actors",
            (int)self->actors, "units", (json_int_t)self->units, "faults", (int)self->faults,
            "depth", (int)self->depth, "kinds", self->kinds, "also", more, "url", url, "trouble",
            render_json_text(self->trouble.text[0] ? self->trouble.text : NULL)));
    free(url);
    return render_json_dump(root);
}
