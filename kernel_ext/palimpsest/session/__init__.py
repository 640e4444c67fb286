"""A session and what belongs to it: runner, inbox, agents, config, surroundings."""
