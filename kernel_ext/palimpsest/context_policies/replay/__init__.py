"""Replay a timeline under a policy: the requests it would have sent, their sizes, caches and prices."""
