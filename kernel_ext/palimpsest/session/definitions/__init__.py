"""Agents, commands and skills: built in, from files, from settings."""
