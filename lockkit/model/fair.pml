/*
 * The fair queue: who waits has a place; the lock is taken by the first of the queue, or, when that
 * one has died, by the next once its window is over. A waiter is woken by a message, which may be
 * lost, and looks again by a timer of its own.
 *
 * What is asked (-D):
 *   NO_WINDOW     a dead waiter's place is kept for ever
 *   NO_TIMER      waiters look only when a message comes
 *   IN_TURN       a window begins when those of all before it are over (Redisson), not with the last question
 *   GOAL          (must fail) nobody ever gets it
 * Always: at most one holder; and the lock is free and kept for dead ones no longer than one window in all, if
 * nobody dies meanwhile. With ltl: who waits and does not die gets it in the end (weak fairness).
 */
#define CLIENTS 3
#ifndef DEATHS
#define DEATHS 1
#endif

#define WINDOW 2 /* ticks */
#define IS_KEPT (!locked && length > 0 && state[queue[0]] == dead)

#ifdef NO_TIMER
#define LOOKS woken[id]
#else
#define LOOKS true
#endif

mtype = { away, waiting, holding, dead };

mtype state[CLIENTS];
byte queue[CLIENTS];     /* clients, the first first */
byte length;
bool locked;
bool woken[CLIENTS];
byte deaths = DEATHS;
byte window[CLIENTS];    /* what is left of a dead one's */
byte kept;               /* ticks that the lock was free and nobody's */

inline drop_head()
{
    d_step {
        queue[0] = queue[1];
        queue[1] = queue[2];
        queue[2] = 0;
        length--
    }
}

/* To whoever is first; or it gets lost. */
inline tell_head()
{
    if
    :: length > 0 -> woken[queue[0]] = true
    :: skip
    fi
}

proctype client(byte id)
{
    /* come */
    atomic {
        woken[id] = length == 0 && !locked; /* looks once, on coming */
        state[id] = waiting;
        queue[length] = id;
        length++
    };
    do
    :: atomic {
            state[id] == waiting && !locked && length > 0 && queue[0] == id && LOOKS ->
            locked = true;
            state[id] = holding;
            drop_head();
#ifdef GOAL
            assert(false);
#endif
            assert((state[0] == holding) + (state[1] == holding) + (state[2] == holding) == 1)
        };
        break
    :: atomic { state[id] == waiting && deaths > 0 && kept == 0 ->
            deaths--;
            state[id] = dead;
            window[id] = WINDOW /* at most: it had asked just now */
        };
        goto over
    od;
    atomic { locked = false; state[id] = away; tell_head() };
over:
    skip
}

proctype clock()
{
end:
    do
    :: atomic { length > 0 && state[queue[0]] == dead && window[queue[0]] > 0 ->
            kept = kept + IS_KEPT;
            assert(kept <= WINDOW);
#ifdef IN_TURN
            window[queue[0]]--
#else
            window[0] = (window[0] > 0 -> window[0] - 1 : 0);
            window[1] = (window[1] > 0 -> window[1] - 1 : 0);
            window[2] = (window[2] > 0 -> window[2] - 1 : 0)
#endif
        }
    od
}

/* The window of a dead head is over: whoever asks next sweeps it. */
proctype sweep()
{
end:
    do
    :: atomic { length > 0 && state[queue[0]] == dead && window[queue[0]] == 0 ->
#ifdef NO_WINDOW
            false
#else
            drop_head();
            tell_head()
#endif
        }
    od
}

init {
    atomic {
        state[0] = away; state[1] = away; state[2] = away;
        run client(0); run client(1); run client(2); run clock(); run sweep()
    }
}

#ifndef GOAL
ltl served { [](state[1] == waiting -> <>(state[1] == holding || state[1] == dead)) }
#endif
