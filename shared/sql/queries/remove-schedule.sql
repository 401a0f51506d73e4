-- Removes a schedule and the record of its fires; its runs stay. Locks: its rows. $1 schedule id uuid
DELETE FROM toren_control.schedules WHERE schedule_id = $1::uuid RETURNING schedule_id
