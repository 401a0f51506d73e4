-- Files without their content, in the order of the ids asked for.
-- $1 ids text[]
SELECT f.id, f.name, f.media_type, f.bytes, f.pages FROM unnest($1::text[]) WITH ORDINALITY AS w(id, ord) JOIN toren_control.files f ON f.id = w.id ORDER BY w.ord
