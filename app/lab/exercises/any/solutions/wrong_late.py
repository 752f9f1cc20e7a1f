"""A lease, and then two mistakes: the release asks first and deletes then, and the write does not ask at all."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from resp import BUYER, LEASE_MS, LOCK, ORDER, ORDERS, STOCK, TOKEN, redis, tell


def buy():
    if redis("SET", LOCK, TOKEN, "NX", "PX", LEASE_MS) != "OK":
        return "busy"
    stock = int(redis("GET", STOCK))
    if stock > 0:
        redis("SET", STOCK, stock - 1)
        redis("HSET", ORDERS, BUYER, ORDER)
    if redis("GET", LOCK) == TOKEN:
        redis("DEL", LOCK)
    return "sold" if stock > 0 else "sold-out"


tell(buy)
