/*
 * A unit is held until it is paid, cancelled, or its time is over; the last two put it up again, and
 * somebody else may buy it. Two expirers look at any time, without any lock. A payment may be made as long
 * as its page is open, which is longer than the hold; the provider tells of it twice, at any time. The
 * answer to a cancel may be lost, and what was sent arrives whenever it likes.
 *
 * What is asked (-D): each is one step that looks at the state, but
 *   TIMERS       an expirer reads what is due in one step, and gives it back in the next
 *   OWN_CLOCK    ... by its own clock, which is ahead
 *   LOOK         the payment looks in one step, and writes in the next
 *   REVIVE       a late payment takes the unit again
 *   FORGET       ... is answered, and that is all
 *   NO_EVENT_ID  an event that is told twice counts twice
 *   LAST_WINS    a failed attempt that is told of late undoes what is paid
 *   BLIND        a cancel does not look at the state
 *   NO_VOID      who got no answer to his cancel looks for the order, and believes it
 *   GOAL         (must fail) no payment comes late
 * Always: units are left, held or paid, and as many as were put up; an order ends once, and not before its
 * time; money has paid its order or is owed back, once; who was told that he holds it still, does.
 */
#define BUYERS 2
#define UNITS 1
mtype = { EXPIRED, CANCELLED, PAID, HELD }; /* the last is 1; 0: nothing was bought */

#ifndef OWN_CLOCK
#define OWN_CLOCK 0
#endif
#ifndef NO_EVENT_ID
#define NO_EVENT_ID 0
#endif
#ifndef BLIND
#define BLIND 0
#endif

byte stock = UNITS;
mtype state[BUYERS];
mtype ended[BUYERS]; /* as what it ended first */
bool due[BUYERS];
bool charged[BUYERS];
bool seen[BUYERS]; /* the event */
byte owed[BUYERS];
bool is_sent[BUYERS]; /* a cancel, which has not arrived */
bool is_void[BUYERS]; /* ... and may not count any more */
bool told_held[BUYERS];

#define TAKEN(i) (state[i] == HELD || state[i] == PAID)
#define IS_DUE(i) (state[i] == HELD && (due[i] || OWN_CLOCK))
#define IS_NEW(i) (!seen[i] || NO_EVENT_ID)

inline laws(i)
{
    assert(stock + TAKEN(0) + TAKEN(1) == UNITS);
    assert(state[i] != EXPIRED || due[i]);
    assert(!(told_held[i] && state[i] == CANCELLED));
    assert(ended[i] == 0 || ended[i] == state[i]);
    if :: state[i] > HELD -> ended[i] = state[i] :: else fi
}

inline give_back(i, how) { state[i] = how; stock++; laws(i) }

#ifdef TIMERS
#define STEP(look, write) look -> atomic { write }
#else
#define STEP(look, write) atomic { look -> write; printf("|B\n") }
#endif

active [2] proctype expirer()
{
end:
    do
    :: STEP(IS_DUE(0), give_back(0, EXPIRED))
    :: STEP(IS_DUE(1), give_back(1, EXPIRED))
    od
}

#if defined(REVIVE)
#define TOO_LATE(i) state[i] = PAID; stock = (stock > 0 -> stock - 1 : 0)
#elif defined(FORGET)
#define TOO_LATE(i) skip
#elif defined(GOAL)
#define TOO_LATE(i) assert(false)
#else
#define TOO_LATE(i) owed[i]++
#endif

proctype webhook(byte i)
{
    byte saw;
    byte times;

end:
    charged[i];
end_told:
    do
    :: times < 2 ->
        times++;
        atomic { saw = state[i]; printf("|AA\n") }; /* the order's state, and what is left */
        atomic {
            printf("|A\n");
#ifndef LOOK
            saw = state[i];
#endif
            if
            :: IS_NEW(i) && saw == HELD -> state[i] = PAID
            :: IS_NEW(i) && saw != HELD -> TOO_LATE(i)
            :: else
            fi;
            seen[i] = true;
            laws(i);
            assert((state[i] == PAID) + owed[i] == 1)
        }
#ifdef LAST_WINS
    :: atomic { state[i] == PAID -> give_back(i, CANCELLED) }
#endif
    od
}

/* What was sent arrives. */
proctype cancel(byte i)
{
end:
    atomic {
        is_sent[i];
        if
        :: !is_void[i] && (state[i] == HELD || BLIND) -> give_back(i, CANCELLED)
        :: else
        fi;
        is_sent[i] = false
    }
}

proctype buyer(byte i)
{
end:
    atomic { stock > 0 -> stock--; state[i] = HELD; printf("|A\n") };
end_has_it:
    do
    :: atomic { !charged[i] -> charged[i] = true }
    :: atomic { !due[i] -> due[i] = true; printf("|t\n") } /* time goes by */
    :: is_sent[i] = true /* asks for a cancel: one arrives */
    :: atomic { is_sent[i] -> /* there is no answer: from now on what was sent counts no more */
#ifndef NO_VOID
        is_void[i] = true;
#endif
        told_held[i] = (state[i] == HELD) }
    od
}

init { atomic { run buyer(0); run webhook(0); run cancel(0); run buyer(1); run webhook(1); run cancel(1) } }
