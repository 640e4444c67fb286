"""Run turns one at a time, gate tool calls, run subagents, and write titles and turn summaries."""
