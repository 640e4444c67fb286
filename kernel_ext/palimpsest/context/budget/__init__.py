"""The context budget: a model's window, estimates of a request's tokens, and overflow checks."""
