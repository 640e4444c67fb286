"""Show the contents of requests: one at any place under any policy, two compared, and what compactions lost."""
