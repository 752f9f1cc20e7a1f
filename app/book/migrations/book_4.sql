-- Migration 4: orders in a partition for each sale, so that those of an old one go at once; and sales that were removed
-- from Redis, which are kept as ID@NO.
ALTER TABLE seckill_book.orders RENAME TO orders_before;
CREATE TABLE seckill_book.orders (LIKE seckill_book.orders_before INCLUDING CONSTRAINTS) PARTITION BY LIST (sale);

-- A sale's partition is made with its row. Attached, not made in place: that would wait for whoever reads orders. Its
-- keys are its own: those that it had from the whole table pg_restore --clean could not drop.
CREATE FUNCTION seckill_book.add_partition(no int) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
  EXECUTE format('CREATE TABLE seckill_book.orders_%s (LIKE seckill_book.orders INCLUDING CONSTRAINTS,'
    ' PRIMARY KEY (sale, id), UNIQUE (sale, buyer))', no);
  EXECUTE format('ALTER TABLE seckill_book.orders ATTACH PARTITION seckill_book.orders_%s FOR VALUES IN (%s)', no, no);
END $f$;
CREATE FUNCTION seckill_book.on_sale() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN PERFORM seckill_book.add_partition(NEW.no); RETURN NULL; END $f$;
CREATE TRIGGER on_sale AFTER INSERT ON seckill_book.sale FOR EACH ROW EXECUTE FUNCTION seckill_book.on_sale();
DO $f$ BEGIN PERFORM seckill_book.add_partition(no) FROM seckill_book.sale; END $f$;
INSERT INTO seckill_book.orders SELECT * FROM seckill_book.orders_before;
DROP TABLE seckill_book.orders_before;

-- Sales that were removed, and in which nothing has happened since then. Gives back how many went.
CREATE FUNCTION seckill_book.drop_before(moment timestamptz) RETURNS bigint LANGUAGE plpgsql AS $f$
DECLARE
  old record;
  gone bigint := 0;
BEGIN
  FOR old IN SELECT no FROM seckill_book.sale
      WHERE id LIKE '%@%' AND to_timestamp(ms / 1000.0) < moment FOR UPDATE LOOP
    EXECUTE format('DROP TABLE seckill_book.orders_%s', old.no);
    DELETE FROM seckill_book.entry WHERE sale = old.no;
    DELETE FROM seckill_book.refund WHERE sale = old.no;
    DELETE FROM seckill_book.fork WHERE sale = old.no;
    DELETE FROM seckill_book.conflict WHERE sale = old.no;
    DELETE FROM seckill_book.sale WHERE no = old.no;
    gone := gone + 1;
  END LOOP;
  RETURN gone;
END $f$;
