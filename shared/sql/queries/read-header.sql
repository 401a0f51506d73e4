-- What requests of a digest begin with. No locks. $1 digest text
SELECT header FROM :agent.request_headers WHERE digest = $1::text
