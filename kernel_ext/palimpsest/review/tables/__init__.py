"""The tables of one session: requests, items, subagents, cache breaks, wastes, and why each is so."""
