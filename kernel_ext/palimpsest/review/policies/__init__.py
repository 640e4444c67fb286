"""Context policies of the field as pure functions: what each shows of every item at every request."""
