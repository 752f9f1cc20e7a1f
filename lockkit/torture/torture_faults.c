/*
 * See torture_faults.h. A mark in the history comes before its fault begins and after it has ended,
 * so what a fault may have touched lies between two marks.
 */
#include "torture_faults.h"

#include <signal.h>

enum { NS_PER_MS = 1000000, GAP_LEAST_MS = 80, GAP_MOST_MS = 280 };

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
    (void)kill(faults->server, SIGSTOP);
    faults->server_resume_at_ns = after_ms(faults, 20, 600);
}

static void resume_server(struct torture_faults *faults)
{
    faults->server_resume_at_ns = 0;
    (void)kill(faults->server, SIGCONT);
    mark(faults, 0, "resumed");
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

    if (fault == FAULT_SERVER_PAUSE) {
        if (faults->server_resume_at_ns != 0) return false;
        pause_server(faults);
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

void torture_faults_begin(struct torture_faults *faults)
{
    if (!faults->crowd->plan->kind->is_spared) torture_deck_add(&faults->deck, FAULT_KILL);
    torture_deck_add(&faults->deck, FAULT_PAUSE);
    if (faults->links) {
        torture_deck_add(&faults->deck, FAULT_CUT);
        torture_deck_add(&faults->deck, FAULT_HOLD);
        torture_deck_add(&faults->deck, FAULT_DEAF);
    }
    if (faults->server > 0) torture_deck_add(&faults->deck, FAULT_SERVER_PAUSE);
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
