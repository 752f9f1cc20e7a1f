/*
 * One lock that is a lease, in one server, and a stock beside it.
 *
 * A lease may end at any step: that stands for a paused client, a slow network, a jumping clock.
 * What is asked (-D):
 *   DEL, GET_DEL, COMPARE_DELETE   how a lock is given back
 *   PLAIN                          read the stock, then write it: two steps
 *   CHECKED                        one script that checks the owner, then the stock
 *   LEASE                          never two clients whose leases have not ended
 *   BELIEF                         never two clients that believe they hold it
 *   STOCK                          never more sold than there was
 *   GOAL                           (must fail) nothing is ever sold
 * What one exchange of the lab is says its letter: of a trail that is a schedule of the guard (run).
 */
#define CLIENTS 3
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define UNITS 1
#define EXCHANGE printf("|%c\n", 65 + id)

#define MOST 4 /* clients, at most */
#define COUNT(list) (list[0] + list[1] + list[2] + list[3])

byte key;                /* the token that is in the server; 0: free */
byte token[MOST];        /* of each client's acquisition; unlike any other */
bool leased[MOST];       /* the lease that was granted has not ended */
bool believes[MOST];
byte stock = UNITS;
byte sold;

#define MINE token[id]

inline acquire()
{
    atomic {
        key == 0 ->
        MINE = 1 + id * ROUNDS + round;
        key = MINE;
        leased[id] = true;
        believes[id] = true;
        EXCHANGE;
#ifdef LEASE
        assert(COUNT(leased) == 1);
#endif
#ifdef BELIEF
        assert(COUNT(believes) == 1);
#endif
    }
}

inline buy()
{
    skip;
#ifdef PLAIN
    atomic { left = stock; EXCHANGE };
    atomic { if :: left > 0 -> stock = left - 1; sold++; EXCHANGE :: else fi };
#endif
#ifdef CHECKED
    atomic { if :: key == MINE && stock > 0 -> stock--; sold++ :: else fi }
#endif
#ifdef STOCK
    assert(sold <= UNITS);
#endif
#ifdef GOAL
    assert(sold == 0);
#endif
}

inline release()
{
    believes[id] = false;
#ifdef DEL
    atomic { key = 0; leased[id] = false; EXCHANGE }
#endif
#ifdef GET_DEL
    atomic { seen = key; EXCHANGE };
    if :: seen == MINE -> atomic { key = 0; leased[id] = false; EXCHANGE } :: else fi
#endif
#ifdef COMPARE_DELETE
    atomic { if :: key == MINE -> key = 0; leased[id] = false :: else fi; EXCHANGE }
#endif
}

active [CLIENTS] proctype client()
{
    byte id = _pid;
    byte round;
    byte left;
    byte seen;

    for (round : 0 .. ROUNDS - 1) { acquire(); buy(); release() }
}

/* Any lease ends, at any moment. */
active proctype time()
{
    byte id;

end:
    do
    :: id = (id + 1) % CLIENTS
    :: atomic { leased[id] -> leased[id] = false; if :: key == MINE -> key = 0; printf("|t\n") :: else fi }
    od
}
