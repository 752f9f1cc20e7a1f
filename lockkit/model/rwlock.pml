/*
 * The queue of a read/write lock: writers go first; readers come again and again. Some upgrade, that is
 * keep reading until they write. A waiter may die; its place lasts until its window is over.
 *
 * What is asked (-D):
 *   READERS=n, WRITERS=n, UPGRADERS=n, DEATHS=n
 *   PASSING    readers go past a writer that waits (Redisson)
 *   NO_WINDOW  a dead waiter's place is kept for ever
 *   BOTH_WAIT  the second that upgrades is not refused
 *   LATE_IN    readers come in while one waits to upgrade
 *   GOAL       (must fail) nobody ever writes
 * Always: a writer is alone, but for its own read; and the lock keeps nobody out for dead ones longer than one
 * window in all. With ltl: who waits to write does so, or has died or been refused (weak fairness).
 */
#ifndef READERS
#define READERS 2
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef UPGRADERS
#define UPGRADERS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif

#define WINDOW 2 /* ticks */
#define ALL    (READERS + WRITERS + UPGRADERS)

byte reading;          /* hold the read side, upgraders among them */
byte writing;          /* hold the write side */
byte waiting;          /* writers with a place, the living and the dead */
byte upgrading;        /* upgraders with a place */
byte dead;             /* of those places, dead ones' */
byte window;           /* what the dead have left: they died together, at most just after they asked */
byte deaths = DEATHS;
byte kept;             /* ticks since somebody died */
bool wants = false;    /* the first writer, or upgrader, waits... */
bool is_done = false;  /* ... and has what it wanted, or was refused */

#ifdef PASSING
#define NOBODY_BEFORE (upgrading == 0)
#else
#define NOBODY_BEFORE (waiting == 0 && upgrading == 0)
#endif
#ifdef LATE_IN
#define READER_MAY (writing == 0 && waiting == 0)
#else
#define READER_MAY (writing == 0 && NOBODY_BEFORE)
#endif

/* Without end, and each before the other leaves. */
proctype reader()
{
end:
    do
    :: atomic { READER_MAY -> reading++; assert(writing == 0) };
       atomic { reading-- }
    od
}

proctype writer(bool is_first)
{
    atomic { waiting++; wants = wants || is_first };
    if
    :: atomic { writing == 0 && reading == 0 && upgrading == 0 && dead == 0 ->
            waiting--;
            writing++;
            assert(writing == 1 && reading == 0);
            is_done = is_done || is_first
        };
#ifdef GOAL
        assert(false);
#endif
        atomic { writing-- }
    :: atomic { deaths > 0 && !is_first && kept == 0 -> deaths--; dead++; window = WINDOW }
    fi
}

proctype upgrader(bool is_first)
{
    atomic { READER_MAY -> reading++ };
    if
#ifndef BOTH_WAIT
    :: atomic { upgrading > 0 -> wants = wants || is_first; is_done = is_done || is_first;
            reading-- } /* DEADLOCK: it leaves */
    :: atomic { upgrading == 0 -> upgrading++; wants = wants || is_first }
#else
    :: atomic { upgrading++; wants = wants || is_first }
#endif
       if
       :: atomic { writing == 0 && reading == 1 ->
               upgrading--;
               writing++;
               assert(writing == 1 && reading == 1);
               is_done = is_done || is_first
           };
#ifdef GOAL
           assert(false);
#endif
           atomic { writing-- };
           atomic { reading-- }
       :: atomic { deaths > 0 && !is_first && kept == 0 ->
               deaths--;
               upgrading--;
               waiting++;  /* its place keeps others out as a writer's does */
               dead++;
               window = WINDOW;
               reading--   /* by its lease, which is its own */
           }
       fi
    fi
}

proctype clock()
{
end:
    do
    :: atomic { dead > 0 && window > 0 ->
            window--;
            kept++;
            assert(kept <= WINDOW)
        }
#ifndef NO_WINDOW
    :: atomic { dead > 0 && window == 0 -> waiting = waiting - dead; dead = 0; kept = 0 }
#endif
    od
}

init {
    byte i;
    atomic {
        do
        :: i < READERS -> run reader(); i++
        :: i >= READERS && i < READERS + WRITERS -> run writer(i == READERS); i++
        :: i >= READERS + WRITERS && i < ALL -> run upgrader(WRITERS == 0 && i == READERS); i++
        :: i == ALL -> break
        od;
        run clock()
    }
}

#ifndef GOAL
ltl served { [](wants -> <>is_done) }
#endif
