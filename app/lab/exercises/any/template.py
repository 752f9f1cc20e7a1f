"""Your program, in Python. What is below is how everybody begins: it works on a quiet day.

    cp app/lab/exercises/any/*.py DIR; make exercise CMD='python3 DIR/template.py'
"""
from resp import BUYER, LOCK, ORDER, ORDERS, STOCK, redis, tell


def buy():
    # Take the lock: who comes second gets 0.
    if redis("SETNX", LOCK, "taken") != 1:
        return "busy"

    # What is left? Sell that, and write it down.
    result = "sold-out"
    stock = int(redis("GET", STOCK))
    if redis("HGET", ORDERS, BUYER):
        result = "already"
    elif stock > 0:
        redis("SET", STOCK, stock - 1)
        redis("HSET", ORDERS, BUYER, ORDER)
        result = "sold"

    # Give the lock back.
    redis("DEL", LOCK)
    return result


tell(buy)
