-- Agents that have a schema here. No locks.
SELECT agent FROM toren_control.agents ORDER BY agent
