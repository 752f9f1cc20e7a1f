"""Exercise pay: LAB_ROLE says whether you pay the order that is held, or let it expire. What is wrong here?

LAB_ORDERS_KEY has LAB_ORDER -> "held" or "paid"; an order that expires is deleted, and its unit is for sale again. Both
say what has become of it: "paid" or "expired"."""
from resp import ORDER, ORDERS, ROLE, STOCK, redis, tell


def settle():
    state = redis("HGET", ORDERS, ORDER)
    if state != "held":
        return state or "expired"
    if ROLE == "pay":
        redis("HSET", ORDERS, ORDER, "paid")
        return "paid"
    redis("HDEL", ORDERS, ORDER)
    redis("INCR", STOCK)
    return "expired"


tell(settle)
