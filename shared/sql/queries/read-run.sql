-- One run, with the budget of its tree if it has one (caps null: not capped). No locks. $1 run uuid
SELECT r.run_id, r.process, r.mode, r.status, r.input, r.output, r.error, r.generation, r.attributes, r.retries, r.forked_from, r.parent, r.data_key,
       floor(extract(epoch FROM r.created_at) * 1000)::float8 AS created_at, floor(extract(epoch FROM r.ended_at) * 1000)::float8 AS ended_at,
       b.run_id IS NOT NULL AS capped, b.cap_tokens, b.cap_nano, b.reserved_tokens, b.reserved_nano, b.spent_tokens, b.spent_nano,
       (s.inbox_seq - s.sealed_facts)::int AS facts
FROM :agent.runs r JOIN :agent.streams s ON s.run_id = r.run_id AND s.stream_id = 'run' LEFT JOIN :agent.budgets b ON b.run_id = coalesce(r.root, r.run_id) WHERE r.run_id = $1::uuid
