"""Turns run one at a time: the runner, the gate before a tool call, subagents, titles."""
