/*
 * Units come back after a sell-out that two instances remember. Each compares its book with the server
 * now and then; question, answer and book may be delayed at any step, which is also what a paused
 * instance looks like. The buyer gets a unit at one instance and then asks any.
 *
 * What is asked (-D):
 *   AT_ONCE      units are sold as soon as they are back
 *   BOOKS        a book is made or prolonged while units cool: nothing is left, after all
 *   FROM_REPLY   a book counts from when the answer came, not from when the question was sent
 *   PAST         ... or is believed past its time
 *   FAST         the server's clock runs twice as fast as the instances'
 *   JUMP         it is set forward once by as much as units cool
 *   COOL=n       ticks that units cool
 *   GOAL         (must fail) no book answers a buyer who got a unit that came back
 * Always: whoever was told of his order before he asked never hears "sold out".
 */
#define BELIEVED 2 /* ticks that a book counts by the instance's clock */
#ifndef COOL
#define COOL (2 * BELIEVED + 1)
#endif
#define UNITS 2 /* at most so many at a time */

byte stock;       /* units, those that cool too; sold out at first */
byte cool[UNITS]; /* ticks that a unit of the stock still cools */
bool has_order;   /* the buyer */

typedef memory { bool is_there; bool has_order; byte life }; /* life: ticks that it still counts */
memory book[2];
byte age[2]; /* of the question under way, in ticks; as far as it matters */

#define LEFT (stock - (cool[0] > 0) - (cool[1] > 0))

#ifdef BOOKS
#define IS_SOLD_OUT (LEFT == 0)
#else
#define IS_SOLD_OUT (stock == 0)
#endif

active [2] proctype instance()
{
    byte i = _pid;
    bool is_out;
    bool saw_order;

    do
    :: age[i] = 0; /* asks */
        atomic { is_out = IS_SOLD_OUT; saw_order = has_order };
        atomic { /* hears */
            book[i].is_there = is_out;
            book[i].has_order = is_out && saw_order;
#ifdef FROM_REPLY
            book[i].life = BELIEVED;
#else
            book[i].life = BELIEVED - age[i];
#endif
            is_out = false;
            saw_order = false
        }
    od
}

inline cool_one(k) { if :: cool[k] > 0 -> cool[k]-- :: else fi }
inline age_one(i)
{
    if :: book[i].life > 0 -> book[i].life-- :: else fi;
    if :: age[i] < BELIEVED -> age[i]++ :: else fi
}

active proctype time()
{
    bool has_jumped;

    do
    :: atomic {
        age_one(0); age_one(1); cool_one(0); cool_one(1);
#ifdef FAST
        cool_one(0); cool_one(1)
#endif
    }
#ifdef JUMP
    :: atomic { !has_jumped -> cool[0] = 0; cool[1] = 0; has_jumped = true }
#endif
    od
}

inline put_up(k)
{
    stock++;
#ifndef AT_ONCE
    cool[k] = COOL
#endif
}

active proctype operator()
{
end:
    do
    :: atomic { stock < UNITS && cool[0] == 0 -> put_up(0) }
    :: atomic { stock < UNITS && cool[1] == 0 -> put_up(1) }
    od
}

/* Somebody else gets a unit: it is sold out again. */
active proctype other()
{
end:
    do
    :: atomic { LEFT > 0 -> stock-- }
    od
}

#ifdef PAST
#define ANSWERS(i) (book[i].is_there)
#else
#define ANSWERS(i) (book[i].is_there && book[i].life > 0)
#endif

/* Each asks the server where it has no book. */
active proctype buyer()
{
end:
    if
    :: atomic { LEFT > 0 && !ANSWERS(0) -> stock--; has_order = true }
    :: atomic { LEFT > 0 && !ANSWERS(1) -> stock--; has_order = true }
    fi;
    do /* he has been told, and asks again */
    :: atomic {
        if :: ANSWERS(0) -> assert(book[0].has_order) :: ANSWERS(1) -> assert(book[1].has_order) fi;
#ifdef GOAL
        assert(false)
#endif
    }
    od
}
