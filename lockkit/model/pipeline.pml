/*
 * Group commit and the late pipeline. A batch goes as one pipeline: SET NX, the owner-checked script,
 * compare-and-delete. The connection breaks; what the pipeline has not done yet may lie in buffers,
 * and come later, with its own SET NX. The client asks on a new connection what became of it, and
 * tells the buyer.
 *
 * What is asked (-D):
 *   RESOLVE_READ    the question only reads the order
 *   RESOLVE_UNLOCK  ... and takes the lock back by compare-and-delete
 *   RESOLVE_VOID    ... and marks the attempt void in the same step; the script refuses a void attempt
 *   GOAL            (must fail) nobody is ever told that it was not executed
 * Always: whoever was told "not executed" never has an order of that attempt.
 */
#define ATTEMPTS 2 /* of one instance, one after the other; a second instance contends */

byte key;             /* attempt that holds the lock, or RIVAL; 0: free */
#define RIVAL 9
byte given_up;            /* highest attempt given up */
bool ordered[3];      /* per attempt, from 1 */
bool refused[3];      /* told: not executed */
byte late;            /* the attempt whose rest lies in buffers; 0: none */
byte step_of_late;    /* what it does next */

inline run_step(attempt, which)
{
    atomic {
        if
        :: which == 0 -> if :: key == 0 -> key = attempt :: else fi
        :: which == 1 ->
            if
#ifdef RESOLVE_VOID
            :: key == attempt && given_up < attempt -> ordered[attempt] = true
#else
            :: key == attempt -> ordered[attempt] = true
#endif
            :: else
            fi
        :: which == 2 -> if :: key == attempt -> key = 0 :: else fi
        fi;
        assert(!(refused[attempt] && ordered[attempt]))
    }
}

active proctype instance()
{
    byte attempt;
    byte done;

    for (attempt : 1 .. ATTEMPTS) {
        done = 0;
        do
        :: done < 3 -> run_step(attempt, done); done++
        :: done < 3 && late == 0 -> late = attempt; step_of_late = done; break /* cut here */
        :: done == 3 -> break
        od;
        if
        :: done < 3 ->
            atomic {
#ifdef RESOLVE_VOID
                given_up = attempt;
#endif
#ifndef RESOLVE_READ
                if :: key == attempt -> key = 0 :: else fi;
#endif
                if :: !ordered[attempt] -> refused[attempt] = true :: else fi;
#ifdef GOAL
                assert(!refused[attempt])
#endif
            }
        :: else
        fi
    }
}

/* The bytes of the dead connection come through, or never do. */
active proctype network()
{
    byte attempt;
    byte which;

end:
    do
    :: atomic { late > 0 -> attempt = late };
        for (which : step_of_late .. 2) { run_step(attempt, which) }
        late = 0
    :: atomic { late > 0 -> late = 0 }
    od
}

active proctype rival()
{
end:
    do
    :: atomic { key == 0 -> key = RIVAL }
    :: atomic { key == RIVAL -> key = 0 }
    od
}

active proctype time()
{
end:
    do
    :: atomic { key != 0 -> key = 0 }
    od
}
