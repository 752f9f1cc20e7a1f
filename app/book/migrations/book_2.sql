-- Migration 2: what Redis had beside the book, and what of that cannot stand (rebuild.h).
CREATE TABLE seckill_book.fork (
  sale int NOT NULL REFERENCES seckill_book.sale,
  ms bigint, seq bigint, digest bigint,
  words text[] NOT NULL,
  PRIMARY KEY (sale, ms, seq, digest)
);
CREATE TABLE seckill_book.conflict (
  sale int NOT NULL REFERENCES seckill_book.sale,
  why text,                            -- no-unit, same-buyer, paid, cancelled, expired, ended, another-sale
  what text,                           -- ORDER_ID:BUYER:KEY, or PAYMENT in place of the key
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at timestamptz,              -- the sale went on without anything that stops it
  PRIMARY KEY (sale, why, what)
);
