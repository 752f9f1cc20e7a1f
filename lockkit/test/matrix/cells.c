/*
 * The fault matrix: each kind of lock in each step while each fault is on, on each topology of the program that runs it;
 * printed as one table. A fault is done once, to all cells at a time, while a second client wants every lock.
 * What must be true of a cell is in cell.c, what a fault may do stands in its row in faults.c. Rules have limits of time: if
 * one is broken, and the machine has stood still meanwhile, the fault is done once more.
 */
#include "test/matrix/cells.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/matrix/machine.h"

enum {
    HELD_MS = 950,
    AWAY_MS = 500,
    TOLD_MS = 6000,
    WAITS_MS = 20000, /* until those that are short have ended */
    STOOD_MS = 200,   /* so long, and what comes out says little */
    TRIES = 4,
    PLACES = STEPS * CELL_KINDS,
    CELLS_MAX = WORLDS_MAX * PLACES
};

static const char *const step_names[STEPS] = {"acquire",       "wait",    "renew",
                                              "renew by hand", "release", "guarded eval"};
static struct cell cells[CELLS_MAX];
static size_t cell_count; /* in all topologies */
static atomic_bool is_over, is_judged;

static struct {
    FILE *out; /* into text; `wrongs` are listed behind the table */
    char *text;
    size_t len, ran, missing, wrong;
    double told_ms; /* all were, of the last fault */
    char wrongs[16384];
} table;

static void each(void (*done)(struct cell *cell))
{
    for (size_t i = 0; i < cell_count; i++)
        if (!cells[i].missing) done(&cells[i]);
}

/* ---- one fault ----------------------------------------------------------------------------------------------- */

static void *rival_main(void *arg)
{
    const struct world *world = arg;

    while (!atomic_load(&is_judged)) {
        for (size_t i = 0; i < cell_count; i++)
            if (!cells[i].missing && cells[i].world == world)
                cell_rival(&cells[i], atomic_load(&is_over));
        lks_nap(5);
    }
    return NULL;
}

static size_t cells_of(const struct world *world)
{
    size_t count = 0;

    for (size_t i = 0; i < cell_count; i++)
        count += !cells[i].missing && cells[i].world == world;
    return count;
}

static void open_world(struct world *world, const struct fault *fault)
{
    struct lk_client_options options = {.url = world->url,
                                        .pool_size = WORLD_POOL,
                                        .poll_ms = 200,
                                        .backoff_ms = 100,
                                        .idle_ms = 10000, /* no ping before a step */
                                        .command_ms = cell_command_ms(fault)};

    world->has_moved = false;
    if (world->ops->find) world->ops->find(world);
    world->mine = lkt_client_with(NULL, options);
    world->rival = lkt_client_with(NULL, options);
    if (!fault->is_cold && world->ops->fill_pool)
        world->ops->fill_pool(world->mine, cells_of(world));
}

static void close_world(struct world *world, const struct fault *fault)
{
    lk_client_close(world->mine);
    lk_client_close(world->rival);
    if (world->ops->tidy) world->ops->tidy(world, fault->is_unsettled);
}

/* The handles are the parent's; a child is told so, and does nothing to it. */
static void try_in_child(void)
{
    unsigned char *statuses =
        mmap(NULL, cell_count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ended = -1;
    pid_t pid = fork();

    assert_true(statuses != MAP_FAILED && pid >= 0);
    for (size_t i = 0; pid == 0 && i < cell_count; i++)
        if (!cells[i].missing) statuses[i] = (unsigned char)cell_try(&cells[i]);
    if (pid == 0) _exit(0);
    (void)waitpid(pid, &ended, 0);
    assert_int_equal(ended, 0);
    for (size_t i = 0; i < cell_count; i++)
        cells[i].status = (lk_status)statuses[i];
    (void)munmap(statuses, cell_count);
}

static bool are_all_told(void)
{
    bool is_any_held = false;

    for (size_t i = 0; i < cell_count; i++)
        is_any_held |= !cells[i].missing && cells[i].step > WAIT && cell_holds(&cells[i].mine);
    return !is_any_held;
}

static void await_news(double over_ms)
{
    while (!are_all_told() && lks_now_ms() - over_ms < TOLD_MS)
        lks_nap(1);
    table.told_ms = lks_now_ms() - over_ms;
}

/* Waits that are to end amid it. */
static bool are_short_waits_over(void)
{
    bool is_any_left = false;

    for (size_t i = 0; i < cell_count; i++)
        is_any_left |=
            !cells[i].missing && cells[i].step == WAIT && !atomic_load(&cells[i].has_ended);
    return !is_any_left;
}

/* A machine that stands still takes no step meanwhile: that is not counted. */
static void hold(const struct fault *fault, double begin_ms, double stood_ms)
{
    int64_t span_ms = fault->is_unsettled ? AWAY_MS : HELD_MS;

    while (lks_now_ms() - begin_ms - (machine_stood_ms() - stood_ms) < (double)span_ms)
        lks_nap(1);
    while (fault->wait_ms > 0 && !are_short_waits_over() && lks_now_ms() - begin_ms < WAITS_MS)
        lks_nap(1);
}

static void start_rivals(void)
{
    atomic_store(&is_over, false);
    atomic_store(&is_judged, false);
    for (size_t i = 0; i < worlds_count; i++)
        assert_int_equal(pthread_create(&worlds[i].rivals, NULL, rival_main, &worlds[i]), 0);
}

static void stop_rivals(void)
{
    atomic_store(&is_judged, true);
    for (size_t i = 0; i < worlds_count; i++)
        assert_int_equal(pthread_join(worlds[i].rivals, NULL), 0);
}

static void have(const struct fault *fault)
{
    each(cell_begin);
    double begin_ms = lks_now_ms();
    double stood_ms = machine_stood_ms();
    faults_begin(fault);
    start_rivals();
    each(cell_start);
    if (fault->place == IN_CHILD) try_in_child();
    hold(fault, begin_ms, stood_ms);
    faults_end(fault);
    double over_ms = lks_now_ms();
    each(cell_mend);
    atomic_store(&is_over, true);
    if (fault->forgets) await_news(over_ms);
    each(cell_join);
    stop_rivals();
    for (size_t i = 0; i < worlds_count; i++)
        if (worlds[i].ops->find) worlds[i].ops->find(&worlds[i]);
    for (size_t i = 0; i < cell_count; i++)
        if (!cells[i].missing && !cells[i].wrong) cells[i].wrong = cell_judge(&cells[i], over_ms);
}

/* Whether there is any cell for it. */
static bool make_cells(const struct fault *fault)
{
    bool is_any = false;

    for (size_t i = 0; i < cell_count; i++) {
        cells[i] = (struct cell){.kind = i % CELL_KINDS,
                                 .step = (enum step)(i / CELL_KINDS % STEPS),
                                 .world = &worlds[i / CELL_KINDS / STEPS],
                                 .fault = fault};
        cells[i].missing = cell_is_missing(&cells[i]);
        is_any |= !cells[i].missing;
    }
    return is_any;
}

static size_t count_wrong(void)
{
    size_t count = 0;

    for (size_t i = 0; i < cell_count; i++)
        count += cells[i].wrong != NULL;
    return count;
}

/* False: what came of it says little. */
static bool try_fault(const struct fault *fault)
{
    double begin_ms = lks_now_ms();
    double stood_ms = machine_stood_ms();

    for (size_t w = 0; w < worlds_count; w++)
        open_world(&worlds[w], fault);
    have(fault);
    each(cell_end);
    for (size_t w = 0; w < worlds_count; w++)
        close_world(&worlds[w], fault);
    stood_ms = machine_stood_ms() - stood_ms;
    print_message("# %s: %.1f s, of which the machine stood still for %.0f ms; %zu wrong\n",
                  fault->name, (lks_now_ms() - begin_ms) / 1e3, stood_ms, count_wrong());
    return count_wrong() == 0 || stood_ms < STOOD_MS;
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

/* "un" */
static const char *letters_of(lk_status status)
{
    static const char *const letters[LK_STATUS_COUNT] = {
        [LK_OK] = "ok",       [LK_BUSY] = "bu",      [LK_NOT_OWNER] = "no",   [LK_LOST] = "lo",
        [LK_DEADLOCK] = "de", [LK_CANCELLED] = "ca", [LK_UNKNOWN] = "un",     [LK_UNSYNCED] = "us",
        [LK_INVALID] = "in",  [LK_NO_MEMORY] = "me", [LK_UNREACHABLE] = "ur", [LK_SERVER] = "se",
        [LK_EXHAUSTED] = "ex"};

    return letters[status];
}

static void print_cell(const struct cell *cell)
{
    size_t len = strlen(table.wrongs);

    (void)fprintf(table.out, " %s%c", cell->missing ? " ." : letters_of(cell->status),
                  cell->wrong ? '!' : ' ');
    *(cell->missing ? &table.missing : &table.ran) += 1;
    if (!cell->wrong) return;
    table.wrong++;
    (void)snprintf(
        table.wrongs + len, sizeof table.wrongs - len,
        "%s, %s, %s of a %s lock: %s (%s after %.0f ms; %s; the rival after %.0f ms: %s)\n",
        cell->world->name, cell->fault->name, step_names[cell->step], cell_kind_name(cell->kind),
        cell->wrong, lk_status_name(cell->status), cell->ended_ms - cell->began_ms, cell->err.text,
        cell->free_ms, cell->of_rival.text);
}

static void print_rows(const struct fault *fault)
{
    double free_ms = 0;

    for (size_t i = 0; i < cell_count; i++)
        if (!cells[i].missing && cells[i].free_ms > free_ms) free_ms = cells[i].free_ms;
    (void)fputs(fault->name, table.out);
    if (fault->forgets) (void)fprintf(table.out, "; all told after %.0f ms", table.told_ms);
    (void)fprintf(table.out, "; the rival had each within %.0f ms\n", free_ms);
    for (size_t s = 0; s < STEPS; s++) {
        (void)fprintf(table.out, "  %-14s", step_names[s]);
        for (size_t w = 0; w < worlds_count; w++) {
            (void)fputs(" |", table.out);
            for (size_t k = 0; k < CELL_KINDS; k++)
                print_cell(&cells[(w * STEPS + s) * CELL_KINDS + k]);
        }
        (void)fputc('\n', table.out);
    }
}

static void print_head(void)
{
    table.out = open_memstream(&table.text, &table.len);
    assert_non_null(table.out);
    (void)fputs("\nkind x step x fault, on", table.out);
    for (size_t w = 0; w < worlds_count; w++)
        (void)fprintf(table.out, "%s%s", w ? " | " : " ", worlds[w].name);
    (void)fputs("; in this order:", table.out);
    for (size_t k = 0; k < CELL_KINDS; k++)
        (void)fprintf(table.out, " %s", cell_kind_name(k));
    (void)fputc('\n', table.out);
    for (int i = 0; i < LK_STATUS_COUNT; i++)
        (void)fprintf(table.out, "%s %s, ", letters_of((lk_status)i), lk_status_name((lk_status)i));
    (void)fputs(". no such cell, ! against a rule\n", table.out);
}

static void print_end(void)
{
    (void)fprintf(table.out, "%zu cells ran, %zu against a rule; %zu are none:", table.ran,
                  table.wrong, table.missing);
    for (size_t i = 0; i < CELL_REASONS; i++)
        (void)fprintf(table.out, "%s %s", i ? ";" : "", cell_reasons[i]);
    (void)fprintf(table.out, "\n%s", table.wrongs);
    (void)fclose(table.out);
    (void)fputs(table.text, stderr); /* prove shows that */
    free(table.text);
    for (char *at = NULL, *line = strtok_r(table.wrongs, "\n", &at); line;
         line = strtok_r(NULL, "\n", &at))
        print_message("# %s\n", line); /* told again at the end of a long log */
}

void cells_no_fault_breaks_a_rule(void)
{
    cell_count = worlds_count * PLACES;
    print_head();
    for (size_t f = 0; f < FAULTS; f++) {
        for (int i = 0; i < TRIES && make_cells(&faults[f]) && !try_fault(&faults[f]); i++) {}
        print_rows(&faults[f]);
    }
    print_end();
    assert_int_equal(table.wrong, 0);
}

void cells_start(void)
{
    machine_watch();
    for (size_t w = 0; w < worlds_count; w++)
        worlds[w].ops->start(&worlds[w]);
}

void cells_stop(void)
{
    for (size_t w = 0; w < worlds_count; w++)
        worlds[w].ops->stop(&worlds[w]);
    machine_let_be();
}
