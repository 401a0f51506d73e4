-- How many tasks of a wave are worked on at once; null: no bound. Fixed when it is planned.
ALTER TABLE :agent.waves ADD COLUMN max_parallel int;
