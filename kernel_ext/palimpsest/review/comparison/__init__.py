"""Compare policies and sessions in numbers: cost, caches and their breaks, what was forgotten, and why."""
