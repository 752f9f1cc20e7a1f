/*
 * See torture_faults.h. A mark in the history comes before its fault begins and after it has ended,
 * so what a fault may have touched lies between two marks.
 */
#include "torture_faults.h"

#include <signal.h>

enum {
    NS_PER_MS = 1000000,
    GAP_LEAST_MS = 80,
    GAP_MOST_MS = 280,
    AILMENT_LEAST_MS = 20,
    AILMENT_MOST_MS = 150
};

static const char *const fault_names[] = {
#define TORTURE_FAULT_NAME(value, name) [value] = (name),
    TORTURE_FAULT_LIST(TORTURE_FAULT_NAME)
#undef TORTURE_FAULT_NAME
};

const char *torture_fault_name(enum torture_fault fault)
{
    return fault_names[fault];
}

long torture_fault_count(const struct torture_board *board)
{
    long sum = 0;

    for (size_t i = 0; i < FAULT_COUNT; i++)
        sum += atomic_load(&board->faults[i]);
    return sum;
}

/* ---- decks ------------------------------------------------------------------------------------------ */

void torture_deck_add(struct torture_deck *deck, enum torture_fault fault)
{
    deck->cards[deck->count++] = fault;
    deck->next = deck->count;
}

enum torture_fault torture_deck_draw(struct torture_deck *deck)
{
    if (deck->next == deck->count) {
        for (size_t i = deck->count; i > 1; i--) {
            size_t k = torture_random(&deck->seed) % i;
            enum torture_fault card = deck->cards[i - 1];

            deck->cards[i - 1] = deck->cards[k];
            deck->cards[k] = card;
        }
        deck->next = 0;
    }
    return deck->cards[deck->next++];
}

/* ---- faults ------------------------------------------------------------------------------------------ */

static int64_t after_ms(struct torture_faults *faults, int64_t least_ms, int64_t most_ms)
{
    return torture_now_ns() + torture_between(&faults->deck.seed, least_ms, most_ms) * NS_PER_MS;
}

static void mark(const struct torture_faults *faults, long pid, const char *what)
{
    history_note(faults->writer, pid, "mark %s", what);
}

static void kill_worker(struct torture_faults *faults, unsigned process)
{
    mark(faults, faults->crowd->places[process].pid, "killed");
    torture_crowd_kill(faults->crowd, process, after_ms(faults, 50, 400));
}

static void pause_worker(struct torture_faults *faults, unsigned process)
{
    mark(faults, faults->crowd->places[process].pid, "paused");
    torture_crowd_pause(faults->crowd, process);
    faults->resume_at_ns[process] = after_ms(faults, 100, 900);
}

static void resume_worker(struct torture_faults *faults, unsigned process)
{
    pid_t pid = faults->crowd->places[process].pid;

    faults->resume_at_ns[process] = 0;
    torture_crowd_resume(faults->crowd, process);
    mark(faults, pid, "resumed");
}

static void trouble_link(struct torture_faults *faults, unsigned process,
                         enum torture_link_state state)
{
    mark(faults, faults->crowd->places[process].pid, "cut");
    torture_links_set(faults->links, process, state);
    faults->heal_at_ns[process] = after_ms(faults, 20, 500);
}

static void heal_link(struct torture_faults *faults, unsigned process)
{
    faults->heal_at_ns[process] = 0;
    torture_links_set(faults->links, process, LINK_PASSES);
    mark(faults, faults->crowd->places[process].pid, "healed");
}

static void pause_server(struct torture_faults *faults)
{
    mark(faults, 0, "paused");
    (void)kill(faults->server->pid, SIGSTOP);
    faults->server_resume_at_ns = after_ms(faults, 20, 600);
}

static void resume_server(struct torture_faults *faults)
{
    faults->server_resume_at_ns = 0;
    (void)kill(faults->server->pid, SIGCONT);
    mark(faults, 0, "resumed");
}

static void empty_server(struct torture_faults *faults)
{
    mark(faults, 0, "emptied");
    atomic_store(&faults->crowd->board->emptied_ns, torture_now_ns());
    lks_server_kill(faults->server);
    faults->server_restart_at_ns = after_ms(faults, 5, 300);
}

static void restart_server(struct torture_faults *faults)
{
    faults->server_restart_at_ns = 0;
    atomic_store(&faults->crowd->board->emptied_ns, torture_now_ns()); /* as long as it is away */
    lks_server_restart(faults->server);
    mark(faults, 0, "restarted");
}

static void begin_ailment(struct torture_faults *faults, enum torture_fault fault)
{
    struct torture_board *board = faults->crowd->board;
    int64_t span_ms = torture_between(&faults->deck.seed, AILMENT_LEAST_MS, AILMENT_MOST_MS);

    faults->is_forgetful = fault == FAULT_CLOCK_AHEAD || fault == FAULT_CLOCK_BACK;
    mark(faults, 0, faults->is_forgetful ? "emptied" : "paused");
    if (faults->is_forgetful) atomic_store(&board->emptied_ns, torture_now_ns());
    if (fault == FAULT_FULL) atomic_store(&board->full_ns, INT64_MAX);
    faults->ailments->begin(fault, span_ms);
    faults->server_heal_at_ns = torture_now_ns() + span_ms * NS_PER_MS;
}

static void end_ailment(struct torture_faults *faults)
{
    struct torture_board *board = faults->crowd->board;

    faults->server_heal_at_ns = 0;
    faults->ailments->end();
    if (faults->is_forgetful) atomic_store(&board->emptied_ns, torture_now_ns());
    if (atomic_load(&board->full_ns) == INT64_MAX) atomic_store(&board->full_ns, torture_now_ns());
    mark(faults, 0, faults->is_forgetful ? "restarted" : "resumed");
}

/* True: not while another one lasts. */
static bool is_server_troubled(const struct torture_faults *faults)
{
    return faults->server_resume_at_ns != 0 || faults->server_restart_at_ns != 0 ||
           faults->server_heal_at_ns != 0;
}

static bool is_of_server(enum torture_fault fault)
{
    return fault >= FAULT_SERVER_PAUSE && fault <= FAULT_READONLY;
}

/* Somebody who is well, if chance finds one soon; else nobody: the number of places. */
static unsigned choose_worker(struct torture_faults *faults)
{
    unsigned count = faults->crowd->plan->processes;

    for (unsigned i = 0; i < 4 * count; i++) {
        unsigned process = torture_random(&faults->deck.seed) % count;
        const struct torture_worker_place *place = &faults->crowd->places[process];

        if (place->pid > 0 && !place->is_doomed && !place->is_paused &&
            faults->heal_at_ns[process] == 0)
            return process;
    }
    return count;
}

static bool strike(struct torture_faults *faults, enum torture_fault fault)
{
    static const enum torture_link_state states[FAULT_COUNT] = {
        [FAULT_CUT] = LINK_CLOSED, [FAULT_HOLD] = LINK_HELD, [FAULT_DEAF] = LINK_DEAF};
    unsigned process = choose_worker(faults);

    if (is_of_server(fault)) {
        if (is_server_troubled(faults)) return false;
        if (fault == FAULT_EMPTY)
            empty_server(faults);
        else if (fault == FAULT_SERVER_PAUSE)
            pause_server(faults);
        else
            begin_ailment(faults, fault);
        return true;
    }
    if (process == faults->crowd->plan->processes) return false;
    if (fault == FAULT_KILL)
        kill_worker(faults, process);
    else if (fault == FAULT_PAUSE)
        pause_worker(faults, process);
    else
        trouble_link(faults, process, states[fault]);
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* Permits and latches that were set up would be gone. And fences rise through either of the two, but not through both:
   a server that comes back empty by a clock that was set back gives numbers once more. */
static void add_server_faults(struct torture_faults *faults)
{
    const struct torture_kind *kind = faults->crowd->plan->kind;
    bool may_forget = faults->server && kind->is_leased && !kind->set_up;
    bool has_clock = faults->ailments && torture_chance(&faults->deck.seed, 50);

    if (may_forget && !has_clock) torture_deck_add(&faults->deck, FAULT_EMPTY);
    if (!faults->ailments) return;
    torture_deck_add(&faults->deck, FAULT_RESTART);
    torture_deck_add(&faults->deck, FAULT_FULL);
    torture_deck_add(&faults->deck, FAULT_READONLY);
    if (!may_forget || !has_clock) return;
    torture_deck_add(&faults->deck, FAULT_CLOCK_AHEAD);
    torture_deck_add(&faults->deck, FAULT_CLOCK_BACK);
}

void torture_faults_begin(struct torture_faults *faults)
{
    if (!faults->crowd->plan->kind->is_spared) torture_deck_add(&faults->deck, FAULT_KILL);
    torture_deck_add(&faults->deck, FAULT_PAUSE);
    if (faults->links) {
        torture_deck_add(&faults->deck, FAULT_CUT);
        torture_deck_add(&faults->deck, FAULT_HOLD);
        torture_deck_add(&faults->deck, FAULT_DEAF);
    }
    if (faults->server) torture_deck_add(&faults->deck, FAULT_SERVER_PAUSE);
    add_server_faults(faults);
    faults->next_at_ns = torture_now_ns() + faults->crowd->plan->quiet_ms * NS_PER_MS;
}

static bool is_over(int64_t at_ns, int64_t now_ns)
{
    return at_ns != 0 && now_ns >= at_ns;
}

/* What ends at `now_ns` at the latest. */
static void end_those_over(struct torture_faults *faults, int64_t now_ns)
{
    if (is_over(faults->server_resume_at_ns, now_ns)) resume_server(faults);
    if (is_over(faults->server_restart_at_ns, now_ns)) restart_server(faults);
    if (is_over(faults->server_heal_at_ns, now_ns)) end_ailment(faults);
    for (unsigned i = 0; i < faults->crowd->plan->processes; i++) {
        if (is_over(faults->resume_at_ns[i], now_ns)) resume_worker(faults, i);
        if (is_over(faults->heal_at_ns[i], now_ns)) heal_link(faults, i);
    }
}

/* The first fault waits for a history to spoil. */
static bool is_too_quiet(const struct torture_faults *faults, int64_t now_ns)
{
    const struct torture_board *board = faults->crowd->board;
    const struct torture_plan *plan = faults->crowd->plan;
    int64_t late_ns = (TORTURE_QUIET_MOST - 1) * plan->quiet_ms * NS_PER_MS;

    return plan->kind->has_holds && atomic_load(&board->quiet_taken) == 0 &&
           atomic_load(&board->acquires[LK_OK]) < TORTURE_QUIET_TAKEN &&
           now_ns < faults->next_at_ns + late_ns;
}

void torture_faults_step(struct torture_faults *faults)
{
    struct torture_board *board = faults->crowd->board;
    int64_t now = torture_now_ns();

    end_those_over(faults, now);
    if (now < faults->next_at_ns || is_too_quiet(faults, now)) return;
    if (atomic_load(&board->quiet_taken) == 0)
        atomic_store(&board->quiet_taken, atomic_load(&board->acquires[LK_OK]));
    faults->next_at_ns = after_ms(faults, GAP_LEAST_MS, GAP_MOST_MS);
    enum torture_fault fault = torture_deck_draw(&faults->deck);
    if (strike(faults, fault)) atomic_fetch_add(&board->faults[fault], 1);
}

void torture_faults_end(struct torture_faults *faults)
{
    end_those_over(faults, INT64_MAX);
}
