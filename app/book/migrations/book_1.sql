-- Migration 1: sales, their ledgers word by word, and what follows from those: an order in its state, a refund.
CREATE TABLE seckill_book.sale (
  no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  fields text[] NOT NULL,              -- names and values, as Redis had them when the book first saw it
  fence bigint NOT NULL DEFAULT 0,     -- the highest that a writer has shown
  ms bigint NOT NULL DEFAULT 0,        -- of the last entry that is in the book, as the next
  seq bigint NOT NULL DEFAULT 0,
  digest bigint NOT NULL DEFAULT 0,
  entries bigint NOT NULL DEFAULT 0,
  initial bigint NOT NULL DEFAULT 0,
  restocked bigint NOT NULL DEFAULT 0,
  left_units bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0,      -- orders; those that are final at once, too
  paid bigint NOT NULL DEFAULT 0,
  cancelled bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  booked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT units_add_up CHECK (initial + restocked = left_units + held + paid)
) WITH (fillfactor = 50);
CREATE TABLE seckill_book.entry (
  sale int NOT NULL REFERENCES seckill_book.sale,
  ms bigint, seq bigint,
  digest bigint NOT NULL,
  words text[] NOT NULL,
  PRIMARY KEY (sale, ms, seq)
);
CREATE TABLE seckill_book.orders (
  sale int NOT NULL REFERENCES seckill_book.sale,
  id bigint,
  buyer text NOT NULL,
  key text NOT NULL,
  state text NOT NULL CHECK (state IN ('sold', 'held', 'paid', 'cancelled', 'expired')),
  pay_by bigint,                       -- ms since 1970, as the next two
  sold_ms bigint NOT NULL,
  changed_ms bigint NOT NULL,
  payment text,
  PRIMARY KEY (sale, id),
  UNIQUE (sale, buyer)
);
CREATE TABLE seckill_book.refund (
  sale int NOT NULL REFERENCES seckill_book.sale,
  payment text,
  order_id text NOT NULL, buyer text NOT NULL, amount bigint NOT NULL, currency text NOT NULL,
  reason text NOT NULL,
  state text NOT NULL CHECK (state IN ('owed', 'sent', 'done')),
  owed_ms bigint NOT NULL, changed_ms bigint NOT NULL,
  PRIMARY KEY (sale, payment)
);

-- The values of one name among an entry's words: name and value in turn.
CREATE FUNCTION seckill_book.named(words text[], name text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE AS $f$
  SELECT words[i + 1] FROM generate_series(1, cardinality(words), 2) i WHERE words[i] = name
$f$;

-- The entry's orders become this. A word for an order that is not there, or is that already, is refused.
CREATE FUNCTION seckill_book.move(the_sale int, at_ms bigint, words text[], to_state text) RETURNS bigint
LANGUAGE plpgsql AS $f$
DECLARE
  moved bigint;
  wanted bigint;
BEGIN
  UPDATE seckill_book.orders o SET state = to_state, changed_ms = at_ms,
      payment = nullif(split_part(w, ':', 3), '')
    FROM seckill_book.named(words, 'order') w
    WHERE o.sale = the_sale AND o.id = split_part(w, ':', 1)::bigint AND o.buyer = split_part(w, ':', 2)
      AND o.state = 'held';
  GET DIAGNOSTICS moved = ROW_COUNT;
  SELECT count(*) INTO wanted FROM seckill_book.named(words, 'order');
  IF moved <> wanted THEN
    RAISE EXCEPTION '% of % orders cannot be %', wanted - moved, wanted, to_state;
  END IF;
  RETURN moved;
END $f$;

-- One entry, in the order of the ledger. Gives back the sale as it is then.
CREATE FUNCTION seckill_book.apply(s seckill_book.sale, at_ms bigint, words text[]) RETURNS seckill_book.sale
LANGUAGE plpgsql AS $f$
DECLARE
  event text := seckill_book.named(words, 'event');
  due bigint := seckill_book.named(words, 'pay_by');
  n bigint;
BEGIN
  s.left_units := seckill_book.named(words, 'left');
  IF (s.entries = 0) <> (event = 'created') THEN
    RAISE EXCEPTION 'a ledger begins with created, and once: this one does not';
  END IF;
  CASE event
    WHEN 'created' THEN s.initial := seckill_book.named(words, 'initial');
    WHEN 'restocked' THEN s.restocked := s.restocked + seckill_book.named(words, 'units')::bigint;
    WHEN 'sold' THEN
      INSERT INTO seckill_book.orders
        SELECT s.no, split_part(w, ':', 1)::bigint, split_part(w, ':', 2), split_part(w, ':', 3),
            CASE WHEN due IS NULL THEN 'sold' ELSE 'held' END, due, at_ms, at_ms
          FROM seckill_book.named(words, 'order') w;
      GET DIAGNOSTICS n = ROW_COUNT;
      s.held := s.held + n;
    WHEN 'paid', 'cancelled', 'expired' THEN
      n := seckill_book.move(s.no, at_ms, words, event);
      s.held := s.held - n;
      s.paid := s.paid + CASE event WHEN 'paid' THEN n ELSE 0 END;
      s.cancelled := s.cancelled + CASE event WHEN 'cancelled' THEN n ELSE 0 END;
      s.expired := s.expired + CASE event WHEN 'expired' THEN n ELSE 0 END;
    WHEN 'refund-owed', 'refund-sent', 'refund-done' THEN
      INSERT INTO seckill_book.refund
        SELECT s.no, split_part(w, ':', 1), split_part(w, ':', 2), split_part(w, ':', 3),
            split_part(w, ':', 4)::bigint, split_part(w, ':', 5), split_part(w, ':', 6),
            substr(event, 8), at_ms, at_ms
          FROM seckill_book.named(words, 'refund') w
        ON CONFLICT (sale, payment) DO UPDATE
          SET state = excluded.state, changed_ms = excluded.changed_ms;
    ELSE NULL; -- paused, resumed, patched, ended...: it is in the ledger
  END CASE;
  s.entries := s.entries + 1;
  RETURN s;
END $f$;

-- The next entries of a sale, by the writer of that fence, behind the entry (from_ms, from_seq). All or nothing:
-- it fails where another writer has shown a higher fence, or the book is not, or no more, at that place.
CREATE FUNCTION seckill_book.take(the_id text, the_fence bigint, from_ms bigint, from_seq bigint, entries jsonb)
RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  s seckill_book.sale;
  e record;
BEGIN
  SELECT * INTO s FROM seckill_book.sale WHERE id = the_id FOR UPDATE;
  IF s.fence > the_fence OR s.fence IS NULL THEN
    RAISE EXCEPTION 'stale writer: fence %, and % was seen', the_fence, s.fence;
  END IF;
  IF (s.ms, s.seq) <> (from_ms, from_seq) THEN
    RAISE EXCEPTION 'stale writer: the book is at %-%', s.ms, s.seq;
  END IF;
  BEGIN
    FOR e IN SELECT * FROM jsonb_to_recordset(entries) x(ms bigint, seq bigint, digest bigint, words text[]) LOOP
      IF (e.ms, e.seq) <= (s.ms, s.seq) THEN RAISE EXCEPTION 'it comes behind %-%', s.ms, s.seq; END IF;
      INSERT INTO seckill_book.entry VALUES (s.no, e.ms, e.seq, e.digest, e.words);
      s := seckill_book.apply(s, e.ms, e.words);
      IF s.initial + s.restocked <> s.left_units + s.held + s.paid THEN
        RAISE EXCEPTION 'units do not add up';
      END IF;
      s.ms := e.ms; s.seq := e.seq; s.digest := e.digest;
    END LOOP;
  EXCEPTION WHEN data_exception OR integrity_constraint_violation OR raise_exception THEN
    RAISE EXCEPTION 'entry %-%: %', e.ms, e.seq, SQLERRM;
  END;
  UPDATE seckill_book.sale SET fence = the_fence, ms = s.ms, seq = s.seq, digest = s.digest, entries = s.entries,
      initial = s.initial, restocked = s.restocked, left_units = s.left_units, held = s.held, paid = s.paid,
      cancelled = s.cancelled, expired = s.expired, booked_at = clock_timestamp()
    WHERE no = s.no;
END $f$;
