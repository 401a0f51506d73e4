-- Files whose content is sealed have the key of it, wrapped.
ALTER TABLE toren_control.files ADD COLUMN data_key text;
