-- Migration 5: what is asked of the book for each batch of purchases, as a function, which is parsed once a session. It is
-- planned each time, and by the keys: what nobody has analyzed yet looks as if it were small enough to be read whole.
-- ",WORD,WORD...," of those words ORDER:STATE:PAYMENT that are in the book, each as often as it is asked for; NULL: none.
-- What was sold for good is held, and paid.
CREATE FUNCTION seckill_book.booked(the_id text, words text[]) RETURNS text LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off AS $f$
DECLARE
  the_sale int := (SELECT no FROM seckill_book.sale WHERE id = the_id);
  found text;
BEGIN
  IF the_sale IS NULL THEN RETURN NULL; END IF;
  IF array_to_string(words, ',') !~ '::?[^:,]' THEN -- orders alone, in whatever state
    EXECUTE format('SELECT string_agg(word, '','') FROM unnest($1) AS word, LATERAL (SELECT FROM seckill_book.orders_%s'
      ' WHERE sale = $2 AND id = rtrim(word, '':'')::bigint LIMIT 1) AS o', the_sale) INTO found USING words, the_sale;
  ELSE
    EXECUTE format('SELECT string_agg(word, '','')'
      ' FROM (SELECT word, split_part(word, '':'', 1)::bigint AS id, split_part(word, '':'', 2) AS state,'
      ' split_part(word, '':'', 3) AS payment FROM unnest($1) AS word) AS a'
      ' LEFT JOIN LATERAL (SELECT * FROM seckill_book.orders_%s WHERE sale = $2 AND id = a.id LIMIT 1) AS o ON true'
      ' LEFT JOIN LATERAL (SELECT * FROM seckill_book.refund'
      ' WHERE sale = $2 AND payment = a.payment LIMIT 1) AS r ON true' -- LIMIT: by the key, each
      ' WHERE (o.id > 0 AND a.payment IN ('''', o.payment) AND (a.state IN ('''', o.state)'
      ' OR (o.state = ''sold'' AND a.state IN (''held'', ''paid''))))'
      ' OR (r.payment <> '''' AND a.state IN ('''', r.state))', the_sale) INTO found USING words, the_sale;
  END IF;
  RETURN ',' || found || ',';
END $f$;
