/*
 * Redlock on three servers, with time in ticks: a server keeps a vote for TTL ticks, a client counts
 * its validity from before its first request. Any request, and any answer, may be lost; a client may
 * be as slow as it likes between two steps.
 *
 * RENEW: the first client (it takes all votes in one step, and holds once) renews, round by round. A server
 * that has said "not yours" does not count again, but with REGAIN: when a majority of votes that have never
 * lapsed has confirmed a round, those that have are asked for anew, where nobody else has them; and they
 * count once another round has been confirmed without them. Crashes cost this client its votes, and nobody
 * else: a second holder may well come in, but the first is not confirmed in a round that begins after that.
 *
 * What is asked (-D):
 *   TTL=n           ticks that a vote counts
 *   CRASHES=n       so often a server loses all it has
 *   AWAY=n          and stays away for n ticks after that (0: it is back at once)
 *   JUMPS=n         so often a server's clock jumps: its votes end at once
 *   FROM_THE_END    validity counted from when the last answer came
 *   MINORITY        one vote is enough
 *   OVERSLEEP       (a client that) believes beyond its validity
 *   UNCONFIRMED     lapsed votes are had anew, and count, whether or not a majority confirmed the round
 *   SAME_ROUND      ...count in the round that finds them lapsed
 *   AT_ONCE         ...from the next round on
 *   OVERWRITE       they are taken from somebody else, too
 *   OUTLIVED        (must fail) no round is confirmed that begins when all servers have crashed in the hold
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
byte fresh;              /* ticks of validity of a round of renewals */

inline lose(s)
{
    vote[s] = 0;
    ttl[s] = 0
}

#define BIT(s) (1 << (s))
#define COUNT(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1))
#ifdef RENEW
byte counted;  /* servers, a bit each: whose votes count for the hold... */
byte lapsed;   /* ...have counted, and do not any more... */
byte regained; /* ...or are had anew, and do not count yet */
byte crashed;  /* since it holds, a bit each */
bool is_other; /* somebody else has held it since */

#ifdef OVERWRITE
#define IS_FREE(s) true
#else
#define IS_FREE(s) (vote[s] == 0 || vote[s] == 1)
#endif

/* A server is asked for its vote anew. */
inline regain(s)
{
    if
    :: atomic { away[s] == 0 && IS_FREE(s) -> vote[s] = 1; ttl[s] = TTL; lapsed = lapsed & ~BIT(s);
#ifdef SAME_ROUND
                yes++; counted = counted | BIT(s) }
#elif defined(AT_ONCE)
                counted = counted | BIT(s) }
#else
                regained = regained | BIT(s) }
#endif
    :: atomic { away[s] == 0 && IS_FREE(s) -> vote[s] = 1; ttl[s] = TTL } /* answer lost */
    :: skip
    fi
}

/* One round: each answers yes or no, or not. */
inline renew()
{
    atomic { fresh = TTL; yes = 0; asked = counted | regained; was_other = is_other; had_crashed = crashed };
    for (s : 0 .. SERVERS - 1) {
        if
        :: atomic { (asked & BIT(s)) && away[s] == 0 && vote[s] == 1 ->
                    ttl[s] = TTL; yes = yes + (counted >> s & 1) }
        :: atomic { (asked & BIT(s)) && away[s] == 0 && vote[s] != 1 ->
                    counted = counted & ~BIT(s); regained = regained & ~BIT(s); lapsed = lapsed | BIT(s) }
        :: skip
        fi;
#ifdef SAME_ROUND
        if :: lapsed & BIT(s) -> regain(s) :: else fi
#endif
    };
    atomic {
        is_confirmed = (yes >= QUORUM && fresh > 0 && holds[0]);
#ifdef UNCONFIRMED
        counted = counted | (regained & asked);
        regained = regained & ~asked;
#endif
        if
        :: is_confirmed ->
            assert(!was_other);
#ifdef OUTLIVED
            assert(had_crashed != 7);
#endif
            left[0] = fresh;
            counted = counted | (regained & asked);
            regained = regained & ~asked
#ifndef UNCONFIRMED
        :: !is_confirmed && COUNT(counted) < QUORUM -> holds[0] = false
#endif
        :: else
        fi;
#ifdef UNCONFIRMED
        is_confirmed = holds[0];
#endif
        fresh = 0; yes = 0; asked = 0; was_other = false; had_crashed = 0
    };
#ifdef REGAIN
    for (s : 0 .. SERVERS - 1) {
        if :: is_confirmed && (lapsed & BIT(s)) -> regain(s) :: else fi
    };
#endif
    atomic { s = 0; is_confirmed = false }
}

active proctype keeper()
{
    byte s, yes, asked, had_crashed;
    bool is_confirmed, was_other;

    atomic {
        for (s : 0 .. SERVERS - 1) {
            if :: away[s] == 0 && vote[s] == 0 -> vote[s] = 1; ttl[s] = TTL; counted = counted | BIT(s)
            :: else
            fi
        };
        s = 0;
        if :: COUNT(counted) >= QUORUM -> left[0] = TTL; holds[0] = true; crashed = 0; is_other = false
        :: else
        fi
    };
    do
    :: holds[0] -> renew()
    :: else -> break
    :: atomic { holds[0] -> holds[0] = false; break }
    od;
    atomic { /* given back, once for all */
        left[0] = 0; counted = 0; lapsed = 0; regained = 0; is_other = false; crashed = 0;
        for (s : 0 .. SERVERS - 1) { if :: vote[s] == 1 -> lose(s) :: else fi };
        s = 0
    }
}
#define OTHERS 1
#else
#define OTHERS CLIENTS
#endif

active [OTHERS] proctype client()
{
    byte id = _pid;
    byte votes;
    byte s;

again:
    atomic { left[id] = TTL; votes = 0 };
    for (s : 0 .. SERVERS - 1) {
        if
        :: atomic { away[s] == 0 && vote[s] == 0 -> vote[s] = id + 1; ttl[s] = TTL; votes++ }
#ifndef RENEW
        :: atomic { away[s] == 0 && vote[s] == 0 -> vote[s] = id + 1; ttl[s] = TTL } /* answer lost */
#endif
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
#ifdef RENEW
        is_other = is_other || (holds[0] && holds[1]);
#endif
#if !defined(RENEW) || CRASHES == 0
        assert(!(holds[0] && holds[1]));
#endif
#ifdef GOAL
        assert(!holds[id])
#endif
    };
    /* work, for as long as it likes */
#ifdef RENEW
    atomic { /* in one step, and no second time */
        holds[1] = false; left[1] = 0; votes = 0;
        for (s : 0 .. SERVERS - 1) { if :: vote[s] == 2 -> lose(s) :: else fi };
        s = 0;
        if :: is_other || !holds[0] -> goto over :: else -> goto again fi
    };
over:
    skip
#else
    atomic { holds[id] = false; left[id] = 0; votes = 0 };
    for (s : 0 .. SERVERS - 1) { /* give back everywhere, also where no answer came */
        if :: atomic { vote[s] == id + 1 -> lose(s) } :: skip /* lost */ fi
    };
    goto again
#endif
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
            if :: fresh > 0 -> fresh-- :: else fi;
            s = 0
        }
    od
}

#ifdef OUTLIVED
#define LOSES(s) vote[s] != 2 -> crashed = crashed | BIT(s)
#elif defined(RENEW)
#define LOSES(s) vote[s] != 2
#else
#define LOSES(s) true
#endif

inline trouble_at(s)
{
    if
    :: crashes > 0 && away[s] == 0 && LOSES(s); crashes--; lose(s); away[s] = AWAY
    :: jumps > 0 && vote[s] > 0 -> jumps--; lose(s)
    fi
}

active proctype trouble()
{
end:
    do
    :: atomic { trouble_at(0) }
    :: atomic { trouble_at(1) }
    :: atomic { trouble_at(2) }
    od
}
