-- The newest generation of each agent (I7). No locks.
SELECT agent, generation FROM toren_control.agents ORDER BY agent
