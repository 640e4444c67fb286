"""Read recordings of other agents, one file a format; what each yields is in ``importing/recorded.py``."""
