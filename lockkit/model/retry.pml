/*
 * Buyers who ask again when no answer comes. A request, or its answer, may be lost at any step.
 *
 * What the server does with a request (-D):
 *   NAIVE        sells to whoever asks
 *   BY_BUYER     one order per buyer; asked again it says "refused": that buyer has one
 *   BY_KEY       one order per buyer; the same key gets the same answer again
 *   BY_KEY_ALL   ... and a refusal is kept too
 * What the client makes of silence:
 *   TIMEOUT_IS_NO    it tells the buyer no, and does not ask again
 *   (else)           it asks again, or says that it does not know
 *   RESTOCK      one unit comes back at some moment
 *   GOAL         (must fail) no buyer is ever told yes
 * Always: nobody has two orders, nobody who was told no has one, whoever was told yes has one.
 */
#define BUYERS 2
#define TRIES 3
#define UNITS 1

mtype = { none, yes, no, unknown };

byte stock = UNITS;
byte orders[BUYERS];
mtype kept[BUYERS] = none; /* the answer under the buyer's key */
mtype told[BUYERS] = none;

/* One request at the server; -> answer. */
inline serve(id)
{
    atomic {
        answer = none;
#ifdef BY_BUYER
        if :: orders[id] > 0 -> answer = no :: else fi;
#endif
#if defined(BY_KEY) || defined(BY_KEY_ALL)
        answer = kept[id];
#endif
        if
        :: answer == none && stock > 0 -> stock--; orders[id]++; answer = yes; kept[id] = yes
        :: answer == none && stock == 0 ->
            answer = no;
#ifdef BY_KEY_ALL
            kept[id] = no
#endif
        :: else
        fi
    }
}

/* What may still be on its way, and be served after the client has given up on it. */
byte late[BUYERS];

active [BUYERS] proctype buyer()
{
    byte id = _pid;
    byte tries;
    mtype answer;

    do
    :: tries < TRIES && told[id] == none ->
        tries++;
        if
        :: serve(id);
            if
            :: atomic { told[id] = answer }          /* it arrived */
            :: atomic { answer = none }              /* the answer was lost */
            fi
        :: atomic { late[id]++ }                     /* slow: served later, and nobody listens */
        :: skip                                      /* the request was lost */
        fi;
#ifdef TIMEOUT_IS_NO
        atomic { if :: told[id] == none -> told[id] = no :: else fi }
#endif
    :: told[id] != none -> break
    :: tries == TRIES && told[id] == none -> told[id] = unknown; break
    od
}

active proctype network()
{
    byte id;
    mtype answer;

end:
    do
    :: id = (id + 1) % BUYERS
    :: atomic { late[id] > 0 -> late[id]-- }; serve(id)
    od
}

active proctype shop()
{
#ifdef RESTOCK
    atomic { stock == 0 -> stock++ }
#endif
    skip
}

active proctype auditor()
{
    byte id;

end:
    do
    :: atomic { id < BUYERS ->
            assert(orders[id] <= 1);
            assert(!(told[id] == no && orders[id] > 0));
            assert(!(told[id] == yes && orders[id] == 0));
#ifdef GOAL
            assert(told[id] != yes);
#endif
            id++
        }
    :: id == BUYERS -> id = 0
    od
}
