-- The store's clock (I8).
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
