/*
 * A sale in segments (app/sell/segments.c, app/store/store_segments.h). Each is in a slot of its own: a step is atomic in one, none is over two. A buyer's order
 * and his unit are taken in his home segment in one step. When it has no unit, the instance looks at all, one
 * after the other (the program asks his home once more between two such looks), and fetches: it withdraws where units are, which leaves a move pending there, deposits at
 * home, and settles. Whoever sees a move pending completes it. Two instances ask for any buyers, also for the
 * same; each may stop for good at any step. What was sent may arrive late, and again.
 *
 * What is asked (-D): a sell-out is two looks at all that find nothing left, nothing pending, and no entry in
 * a ledger between; at home the first of them is the attempt to sell. But
 *   SINGLE_COLLECT  one look at all is enough
 *   NO_LEDGER       two are that find nothing, whatever was entered between
 *   NO_PENDING      moves are not looked at
 *   ASK_BEFORE      the attempt is before both looks
 *   NO_SEQ          a deposit does not look whether the move has arrived before
 *   SETTLE_FIRST    a move is settled, and then deposited
 *   SETTLE_ANY      a settlement is of whatever move is pending
 *   WITHDRAW_WHILE_PENDING
 *   CLAIM_AWAY      the unit is taken where it is, and the order made at home in the next step
 * And:
 *   BACK            a unit comes back home, again and again: its order is cancelled
 *   IN_TURN         who fetches has a lock until he has been told
 *   BESPOKE         a move says for whom it is: the deposit sells to him in the same step
 *   FAILOVER        once the replica of a segment takes over, which lacks the last steps
 *   WAIT            a step of a move is sent when the replica has the one before
 *   WAIT_OWN        ... of one's own move
 *   COUNT_ON        the numbers of moves go on, up to MOST=n (else they begin anew: fewer states)
 *   CALM, DEATHS=n  nothing arrives late; (live) so many die within a move
 *   SEGMENTS=n, BUYERS=n, UNITS=n
 *   GOAL            (must fail) nobody gets a unit when some were fetched
 * Always: units are left, on their way or sold, and as many as were put up; nobody has two orders; who is told
 * "sold out" had no order when all were sold, at one moment since he asked. With live: who asks is told.
 */
#ifndef SEGMENTS
#define SEGMENTS 2
#endif
#ifndef BUYERS
#define BUYERS 3
#endif
#ifndef UNITS
#define UNITS 2
#endif
#ifndef FAILOVER
#define FAILOVER 0
#endif
#if NO_SEQ || SETTLE_ANY || FAILOVER
#define COUNT_ON 1
#endif
#ifndef COUNT_ON
#define COUNT_ON 0
#endif
#ifndef CALM
#define CALM 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#define INSTANCES 2
#ifndef MOST
#define MOST 2
#endif
#define HOME(b) ((b) % SEGMENTS)

#ifdef SINGLE_COLLECT
#define LOOKS 1
#else
#define LOOKS 2
#endif
#ifdef ASK_BEFORE
#define IS_ATTEMPT(s) false
#else
#define IS_ATTEMPT(s) (s == HOME(b))
#endif
#ifndef NO_LEDGER
#define NO_LEDGER 0
#endif
#ifndef NO_PENDING
#define NO_PENDING 0
#endif
#ifndef NO_SEQ
#define NO_SEQ 0
#endif
#ifndef SETTLE_ANY
#define SETTLE_ANY 0
#endif
#ifndef WITHDRAW_WHILE_PENDING
#define WITHDRAW_WHILE_PENDING 0
#endif

typedef move { byte from; byte to; byte n; byte seq; byte buyer }; /* seq 0: none */
typedef segment {
    byte stock;
    byte seq;               /* of its last move */
    move moving;            /* the one that is pending */
    byte in[SEGMENTS];      /* the last from each that arrived */
    bool is_new[INSTANCES]; /* the ledger has an entry since the instance's first look */
};
segment at[SEGMENTS];
byte orders[BUYERS];
byte away; /* units taken for an order that is still to be made */

move sent[INSTANCES]; /* what each completes */
move late;            /* what may arrive again: the deposit */
bool is_settled;      /* ... and the settlement */

byte buyer_of[INSTANCES];
bool asks[INSTANCES];
bool was_out[INSTANCES]; /* at one moment since */
byte turn; /* of the one that fetches; 0: of nobody */
byte deaths = DEATHS;

bool has_fetched; /* somebody */

hidden byte k;
hidden byte sum;
hidden byte sold;
hidden byte mover;

#define IS_PENDING(s) (at[s].moving.seq != 0)
#define HAS_ARRIVED(m) (m.seq <= at[m.to].in[m.from])
#define ON_ITS_WAY(s) (HAS_ARRIVED(at[s].moving) -> 0 : at[s].moving.n)

#ifdef BESPOKE
#define FOR(b) b
#else
#define FOR(b) 0
#endif
#define SET(m, s, d, count, number, whom) \
    m.from = s; m.to = d; m.n = count; m.seq = number; m.buyer = FOR(whom)
#define COPY(m, of) SET(m, of.from, of.to, of.n, of.seq, of.buyer)
#define CLEAR(m) SET(m, 0, 0, 0, 0, 0)

inline laws()
{
    d_step {
        sum = away; sold = 0;
        for (k : 0 .. SEGMENTS - 1) { sum = sum + at[k].stock + ON_ITS_WAY(k) }
        for (k : 0 .. BUYERS - 1) { sold = sold + orders[k]; assert(orders[k] <= 1) }
        assert(sum + sold == UNITS);
        for (k : 0 .. INSTANCES - 1) {
            if :: asks[k] && sold == UNITS && orders[buyer_of[k]] == 0 -> was_out[k] = true :: else fi
        }
    }
}

inline enter(s) { at[s].is_new[0] = true; at[s].is_new[1] = true }
#define SELL(b) at[HOME(b)].stock--; orders[b]++; enter(HOME(b))

inline withdraw(source, dest, count, whom)
{
    if
    :: at[source].stock >= count && at[source].seq < MOST && (!IS_PENDING(source) || WITHDRAW_WHILE_PENDING) ->
        at[source].stock = at[source].stock - count;
        at[source].seq++;
        SET(at[source].moving, source, dest, count, at[source].seq, whom);
        enter(source)
    :: else
    fi;
    laws()
}

inline deposit(m)
{
    if
    :: !HAS_ARRIVED(m) || NO_SEQ ->
        at[m.to].stock = at[m.to].stock + m.n;
        at[m.to].in[m.from] = m.seq;
        enter(m.to);
#ifdef BESPOKE
        if :: orders[m.buyer] == 0 -> SELL(m.buyer) :: else fi
#endif
    :: else
    fi;
    laws()
}

/* Its last move is over: whatever speaks of one changes nothing more, and so it may count from 1 again. */
inline count_anew(s)
{
    at[s].seq = 0;
    for (k : 0 .. SEGMENTS - 1) { at[k].in[s] = 0 }
    for (k : 0 .. INSTANCES - 1) { if :: sent[k].from == s -> CLEAR(sent[k]) :: else fi }
    if :: late.from == s -> CLEAR(late); is_settled = false :: else fi
}

inline settle(m)
{
    if
    :: IS_PENDING(m.from) && (at[m.from].moving.seq == m.seq || SETTLE_ANY) ->
        mover = m.from;
        if
        :: HAS_ARRIVED(at[mover].moving) && !COUNT_ON -> count_anew(mover)
        :: else
        fi;
        CLEAR(at[mover].moving)
    :: else
    fi;
    laws()
}

inline may_be_late(m, is_settlement)
{
    if
    :: true
    :: !CALM && m.seq > 0 && (late.seq == 0 || is_settlement) -> COPY(late, m); is_settled = is_settlement
    fi
}

proctype network()
{
    byte s;

end:
    do
    :: atomic { late.seq > 0 -> deposit(late) }
    :: atomic { late.seq > 0 && is_settled -> settle(late) }
    :: atomic { select (s : 0 .. SEGMENTS - 1); withdraw((s + 1) % SEGMENTS, s, 1, s); s = 0 }
    od
}

segment replica[SEGMENTS];
byte replicated[BUYERS]; /* orders */
bool is_cut[INSTANCES];  /* where it was sent there is another server now */

#define COPY_SEGMENT(a, a_orders, b, b_orders) \
    a.stock = b.stock; a.seq = b.seq; COPY(a.moving, b.moving); \
    for (k : 0 .. SEGMENTS - 1) { a.in[k] = b.in[k] } \
    for (k : 0 .. BUYERS - 1) { if :: HOME(k) == s -> a_orders[k] = b_orders[k] :: else fi }

bool is_over;            /* a failover has been */

proctype replication(byte s)
{
end:
    do
    :: d_step { COPY_SEGMENT(replica[s], replicated, at[s], orders) }
    :: atomic {
        !is_over -> is_over = true;
        COPY_SEGMENT(at[s], orders, replica[s], replicated);
        for (k : 0 .. INSTANCES - 1) { is_cut[k] = sent[k].seq > 0 && (sent[k].from == s || sent[k].to == s) }
        enter(s);
        laws()
    }
    od
}

#ifndef WAIT
#define WAIT_FOR(is_there)
#else
#ifdef WAIT_OWN
#define IS_WAITED_FOR (sent[i].to == HOME(b))
#else
#define IS_WAITED_FOR true
#endif
#define WAIT_FOR(is_there) \
    if \
    :: is_cut[i] -> CLEAR(sent[i]); is_cut[i] = false; goto accept_again \
    :: !is_cut[i] && ((is_there) || !IS_WAITED_FOR) \
    fi;
#endif

#define MAY_DIE if :: true :: deaths > 0 -> deaths--; goto dead fi

inline send_deposit() { atomic { may_be_late(sent[i], false); deposit(sent[i]); MAY_DIE } }
inline send_settle() { atomic { may_be_late(sent[i], true); settle(sent[i]) } }

inline complete()
{
#ifdef SETTLE_FIRST
    send_settle();
    send_deposit();
#else
    WAIT_FOR(replica[sent[i].from].seq >= sent[i].seq)
    send_deposit();
    WAIT_FOR(replica[sent[i].to].in[sent[i].from] >= sent[i].seq)
    send_settle();
#endif
    atomic { CLEAR(sent[i]); is_cut[i] = false }
}

inline look_at(s)
{
    if
    :: IS_PENDING(s) && !NO_PENDING -> COPY(sent[i], at[s].moving); goto completes
    :: (!IS_PENDING(s) || NO_PENDING) && at[s].stock > 0 ->
        if :: n = 1 :: n = at[s].stock fi;
        goto fetches
    :: else
    fi;
    if
    :: look == 1 -> at[s].is_new[i] = false
    :: look == 2 && at[s].is_new[i] && !NO_LEDGER -> goto accept_again
    :: else
    fi
}

proctype instance(byte i)
{
    byte b;
    byte s;
    byte n;
    byte look;

end:
    do
    :: atomic { select (b : 0 .. BUYERS - 1); buyer_of[i] = b; asks[i] = true; laws() };
        goto attempts;

accept_again:
        skip;
attempts:
        atomic {
            s = HOME(b);
            look = 1;
            if
            :: orders[b] > 0 -> goto told
            :: orders[b] == 0 && at[s].stock > 0 ->
                SELL(b);
                laws();
#ifdef GOAL
                assert(!has_fetched);
#endif
                goto told
            :: else -> look_at(s); s = 0
            fi
        };
        do
        :: atomic { s < SEGMENTS && look == 1 && IS_ATTEMPT(s) -> s++ }
        :: atomic { s < SEGMENTS && !(look == 1 && IS_ATTEMPT(s)) -> look_at(s); s++ }
        :: atomic { s == SEGMENTS && look < LOOKS -> s = 0; look++ }
        :: atomic { s == SEGMENTS && look == LOOKS -> assert(was_out[i]); goto told }
        od;

fetches:
#ifdef CLAIM_AWAY
        atomic {
            if :: at[s].stock > 0 -> at[s].stock--; away++; enter(s); laws() :: else -> goto accept_again fi
        };
        atomic { at[HOME(b)].stock++; away--; if :: orders[b] == 0 -> SELL(b) :: else fi; laws() };
        goto accept_again;
#endif
#ifdef IN_TURN
        atomic { turn == 0 || turn == i + 1 -> turn = i + 1 };
#endif
        atomic {
            if :: s == HOME(b) -> goto accept_again :: else fi;
            withdraw(s, HOME(b), n, b);
#ifdef GOAL
            has_fetched = true;
#endif
            MAY_DIE;
            goto accept_again
        };
completes:
        complete();
        goto accept_again;
told:
        atomic {
            if :: turn == i + 1 -> turn = 0 :: else fi;
            asks[i] = false; was_out[i] = false; buyer_of[i] = 0;
            b = 0; s = 0; n = 0; look = 0
        }
    od;
dead:
    atomic { if :: turn == i + 1 -> turn = 0 :: else fi }
}

proctype operator()
{
    byte b;

end:
    do
    :: atomic {
        select (b : 0 .. BUYERS - 1);
        if :: orders[b] > 0 -> orders[b]--; at[HOME(b)].stock++; enter(HOME(b)); laws() :: else fi;
        b = 0
    }
    od
}

init {
    atomic {
        for (k : 1 .. UNITS) { if :: at[0].stock++; replica[0].stock++ :: at[1].stock++; replica[1].stock++ fi }
        run instance(0);
        run instance(1);
#if FAILOVER
        run replication(0);
        run replication(1);
#endif
#if !CALM
        run network();
#endif
#ifdef BACK
        run operator()
#endif
    }
}
