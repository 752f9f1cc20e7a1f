/*
 * The stock in another store than the lock; the lock hands out growing numbers (fencing tokens).
 *
 * What is asked (-D):
 *   NO_FENCE        the store does not look at the number
 *   FENCE_WRITE     it refuses a write with a lower number than it has seen
 *   FENCE_BOTH      it looks, and remembers, on the read too
 *   ONE_STEP        check of the number, of the stock, and the change, in one step
 *   COUNTER_LOST    the lock's counter starts anew once (a restart without its data)
 *   BY_TIME         a number is the server's time where that is greater than the counter
 *   SET_BACK        that clock is set back while the counter is lost
 *   GOAL            (must fail) nothing is ever sold
 * Always: never more sold than there was.
 */
#define CLIENTS 3
#define ROUNDS 2
#define UNITS 2

byte counter;         /* of the lock */
byte clock;           /* of its server: has moved on when a lock is granted */
byte owner;           /* number of the holder; 0: free */
byte highest;         /* that the store has seen */
byte stock = UNITS;
byte sold;

inline sell_if(is_allowed)
{
    if :: is_allowed -> stock = left - 1; sold++; assert(sold <= UNITS) :: else fi
#ifdef GOAL
    assert(sold == 0);
#endif
}

active [CLIENTS] proctype client()
{
    byte round;
    byte fence;
    byte left;

    for (round : 1 .. ROUNDS) {
        atomic {
            owner == 0 -> counter++; clock++;
#ifdef BY_TIME
            if :: clock > counter -> counter = clock :: else fi;
#endif
            fence = counter; owner = fence
        };
        left = 0;
#ifdef NO_FENCE
        left = stock;
        atomic { sell_if(left > 0) };
#endif
#ifdef FENCE_WRITE
        left = stock;
        atomic { sell_if(left > 0 && fence >= highest); if :: fence > highest -> highest = fence :: else fi };
#endif
#ifdef FENCE_BOTH
        atomic {
            if :: fence >= highest -> highest = fence; left = stock :: else fi
        };
        atomic { sell_if(left > 0 && fence >= highest) };
#endif
#ifdef ONE_STEP
        atomic {
            left = stock;
            sell_if(left > 0 && fence >= highest);
            if :: fence > highest -> highest = fence :: else fi
        };
#endif
        atomic { if :: owner == fence -> owner = 0 :: else fi }
    }
}

active proctype time()
{
end:
    do
    :: atomic { owner != 0 -> owner = 0 }
    od
}

active proctype loss()
{
#ifdef COUNTER_LOST
    atomic {
        counter > 0 -> counter = 0; owner = 0;
#ifdef SET_BACK
        clock = 0
#endif
    }
#endif
    skip
}
