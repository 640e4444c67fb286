"""Rebuild recorded requests, and make recorded decisions again from the journal."""
