-- Forgets a dead letter: somebody has looked at it, or its hint was sent again. Locks: its row. $1 message id
DELETE FROM toren_control.dead_letters WHERE message_id = $1::text RETURNING message_id
