/*
 * What a tap shows. Several servers are asked in parallel, so their commands pass in any order: here they
 * get one. Whoever gives a tap holds its mutex, but for tap_take_calls().
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap_internal.h"

void tap_call_free(const struct tap_call *call)
{
    free(call->command);
    free(call->reply);
    free(call->script);
}

void tap_calls_free(struct tap_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        tap_call_free(&calls->list[i]);
    free(calls->list);
    *calls = (struct tap_calls){0};
}

bool tap_calls_add(struct tap_calls *calls, struct tap_call call)
{
    struct tap_call *list = realloc(calls->list, (calls->count + 1) * sizeof *list);

    if (!list) tap_call_free(&call);
    if (!list) return false;
    calls->list = list;
    list[calls->count++] = call;
    return true;
}

void tap_calls_show(struct tap_calls *calls, unsigned server, const char *reply, const char *format,
                    ...)
{
    char *command = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&command, format, args) < 0) command = NULL;
    va_end(args);
    (void)tap_calls_add(
        calls, (struct tap_call){.command = command, .reply = strdup(reply), .server = server});
}

int tap_add_call(struct tap *tap, struct tap_call call)
{
    return tap_calls_add(&tap->calls, call) ? (int)tap->calls.count - 1 : CALL_NOT_SHOWN;
}

/* ---- one order ------------------------------------------------------------------------------------- */

bool tap_calls_is_undo(const char *command)
{
    static const char undo[] = "EVAL redlock_undo.lua ";

    return strncmp(command, undo, sizeof undo - 1) == 0;
}

static bool is_idle_undo(const struct tap_call *call)
{
    return call->command && tap_calls_is_undo(call->command) && call->reply &&
           strcmp(call->reply, "0") == 0;
}

static void leave_out_idle_undos(struct tap_calls *calls)
{
    size_t kept = 0;

    for (size_t i = 0; i < calls->count; i++) {
        if (is_idle_undo(&calls->list[i]))
            tap_call_free(&calls->list[i]);
        else
            calls->list[kept++] = calls->list[i];
    }
    calls->count = kept;
}

/* How many of those from `begin` on went to the same server as the one at `at`. */
static size_t round_of(const struct tap_calls *calls, size_t begin, size_t at)
{
    size_t round = 0;

    for (size_t i = begin; i < at; i++)
        round += calls->list[i].server == calls->list[at].server;
    return round;
}

/* Each server's first command, in the order of servers, then each one's second... */
static void order_stretch(struct tap_calls *calls, size_t begin, size_t end)
{
    struct tap_call *sorted = calloc(end - begin, sizeof *sorted);
    size_t count = 0;

    for (size_t round = 0; sorted && count < end - begin; round++) {
        for (unsigned server = 0; server < TAP_SERVERS_MAX; server++) {
            for (size_t i = begin; i < end; i++) {
                if (calls->list[i].server == server && round_of(calls, begin, i) == round)
                    sorted[count++] = calls->list[i];
            }
        }
    }
    if (sorted) memcpy(calls->list + begin, sorted, (end - begin) * sizeof *sorted);
    free(sorted);
}

/* To the first server nothing is sent in parallel: what went there stays where it is. */
void tap_calls_order(struct tap_calls *calls)
{
    size_t end = 0;

    leave_out_idle_undos(calls);
    for (size_t begin = 0; begin < calls->count; begin = end + 1) {
        end = begin;
        while (end < calls->count && calls->list[end].server > 0)
            end++;
        if (end - begin > 1) order_stretch(calls, begin, end);
    }
}

struct tap_calls tap_take_calls(struct tap *tap)
{
    (void)pthread_mutex_lock(&tap->mutex);
    struct tap_calls calls = tap->calls;
    tap->calls = (struct tap_calls){0};
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) { /* a later reply must not find another's place */
        for (size_t k = 0; k < tap->links[i].pending_count; k++)
            tap->links[i].pending[k].call = CALL_NOT_SHOWN;
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_calls_order(&calls);
    return calls;
}
