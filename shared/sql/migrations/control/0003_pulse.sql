-- The guardian's pulse on AWS; schema/control.sql says what the row is for.
CREATE TABLE toren_control.pulse (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  beat bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  passed_at timestamptz
);
INSERT INTO toren_control.pulse DEFAULT VALUES;
