"""The same session under another policy (what-if)."""
