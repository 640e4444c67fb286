"""Context policies of the field as pure functions: what each shows of every item at every request.

Rules and numbers follow spec/review.md 2.1 and 2.2, read from the projects at the versions named in each ``source``.
"""
