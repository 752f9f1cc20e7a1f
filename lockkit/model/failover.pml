/*
 * One primary and its replicas, which follow it asynchronously. An order is accepted once written on
 * the primary, and, with WAIT, on so many replicas; then the primary dies and a replica takes over.
 *
 * What is asked (-D):
 *   REPLICAS=n, WAIT=n
 *   BEST          the replica that has most is promoted (else any of them)
 *   GOAL          (must fail) nothing is ever accepted
 * Always: what was accepted is on the server that is the primary.
 */
#ifndef REPLICAS
#define REPLICAS 1
#endif
#ifndef WAIT
#define WAIT 0
#endif
#define ORDERS 3
#define SERVERS (REPLICAS + 1)

byte has[SERVERS];   /* orders on each, in the order of the primary: a prefix of it */
byte primary;
byte accepted;       /* the first so many were confirmed to buyers */
bool is_over;        /* a failover has been: the old primary stays away */

/* How many replicas have the first n orders. */
inline count_copies(n)
{
    byte i;
    copies = 0;
    for (i : 0 .. SERVERS - 1) { if :: i != primary && has[i] >= n -> copies++ :: else fi }
}

active proctype buyers()
{
    byte copies;
    byte n;

    do
    :: atomic { !is_over && has[primary] < ORDERS -> has[primary]++; n = has[primary] };
        atomic {
            count_copies(n);
            if
            :: !is_over && copies >= WAIT && accepted < n -> accepted = n
            :: else /* told: not confirmed */
            fi
        };
#ifdef GOAL
        assert(accepted == 0);
#endif
    :: atomic { is_over || has[primary] == ORDERS -> break }
    od
}

active proctype replication()
{
    byte which;

end:
    do
    :: which = (which + 1) % SERVERS
    :: atomic { !is_over && which != primary && has[which] < has[primary] -> has[which]++ }
    od
}

active proctype sentinel()
{
    byte next;
    byte i;
    bool is_best;

    do
    :: next = (next + 1) % SERVERS
    :: atomic {
            next != primary ->
            is_best = true;
            for (i : 0 .. SERVERS - 1) {
                if :: i != primary && has[i] > has[next] -> is_best = false :: else fi
            }
#ifdef BEST
            if :: !is_best -> goto again :: else fi;
#endif
            primary = next;
            is_over = true;
            assert(has[primary] >= accepted)
        };
        break
again:
    od
}
