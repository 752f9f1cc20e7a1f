/*
 * Redlock on three servers, with time in ticks: a server keeps a vote for TTL ticks, a client counts
 * its validity from before its first request. Any request, and any answer, may be lost; a client may
 * be as slow as it likes between two steps.
 *
 * What is asked (-D):
 *   TTL=n           ticks that a vote counts
 *   CRASHES=n       so often a server loses all it has
 *   AWAY=n          and stays away for n ticks after that (0: it is back at once)
 *   JUMPS=n         so often a server's clock jumps: its votes end at once
 *   FROM_THE_END    validity counted from when the last answer came
 *   MINORITY        one vote is enough
 *   OVERSLEEP       (a client that) believes beyond its validity
 *   GOAL            (must fail) nobody ever holds it
 * Always: never two holders.
 */
#define SERVERS 3
#define CLIENTS 2
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef AWAY
#define AWAY 0
#endif
#ifndef JUMPS
#define JUMPS 0
#endif
#ifdef MINORITY
#define QUORUM 1
#else
#define QUORUM 2
#endif

byte vote[SERVERS];      /* for whom: client + 1; 0: nobody */
byte ttl[SERVERS];
byte away[SERVERS];      /* ticks until it is back */
byte left[CLIENTS];      /* ticks of validity of the try or the hold */
bool holds[CLIENTS];
byte crashes = CRASHES;
byte jumps = JUMPS;

inline lose(s)
{
    vote[s] = 0;
    ttl[s] = 0
}

active [CLIENTS] proctype client()
{
    byte id = _pid;
    byte votes;
    byte s;

again:
    atomic { left[id] = TTL; votes = 0 };
    for (s : 0 .. SERVERS - 1) {
        if
        :: atomic { away[s] == 0 && vote[s] == 0 -> vote[s] = id + 1; ttl[s] = TTL; votes++ }
        :: atomic { away[s] == 0 && vote[s] == 0 -> vote[s] = id + 1; ttl[s] = TTL } /* answer lost */
        :: skip                                                          /* refused, or request lost */
        fi
    };
    atomic {
        if
#ifdef FROM_THE_END
        :: votes >= QUORUM -> left[id] = TTL; holds[id] = true
#else
        :: votes >= QUORUM && left[id] > 0 -> holds[id] = true
#endif
        :: else
        fi;
        assert(!(holds[0] && holds[1]));
#ifdef GOAL
        assert(!holds[id])
#endif
    };
    /* work, for as long as it likes */
    atomic { holds[id] = false; left[id] = 0; votes = 0 };
    for (s : 0 .. SERVERS - 1) { /* give back everywhere, also where no answer came */
        if :: atomic { vote[s] == id + 1 -> lose(s) } :: skip /* lost */ fi
    };
    goto again
}

active proctype clock()
{
    byte s;

end:
    do
    :: atomic {
            for (s : 0 .. SERVERS - 1) {
                if :: ttl[s] > 0 -> ttl[s]--; if :: ttl[s] == 0 -> vote[s] = 0 :: else fi :: else fi;
                if :: away[s] > 0 -> away[s]-- :: else fi
            };
            for (s : 0 .. CLIENTS - 1) {
                if :: left[s] > 0 -> left[s]-- :: else fi;
#ifndef OVERSLEEP
                if :: left[s] == 0 -> holds[s] = false :: else fi
#endif
            };
            s = 0
        }
    od
}

active proctype trouble()
{
    byte s;

end:
    do
    :: s = (s + 1) % SERVERS
    :: atomic { crashes > 0 && away[s] == 0 -> crashes--; lose(s); away[s] = AWAY }
    :: atomic { jumps > 0 && vote[s] > 0 -> jumps--; lose(s) }
    od
}
