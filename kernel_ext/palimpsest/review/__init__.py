"""Analyse recorded sessions: rebuild requests, repeat decisions, simulate policies, report windows."""
