-- Whether a schedule fires soon. By the index on next_at. No locks. $1 how soon ms int  $2 agents text[]
SELECT EXISTS (SELECT FROM toren_control.schedules WHERE next_at <= statement_timestamp() + $1::int * interval '1 ms' AND agent = ANY ($2::text[])) AS soon
