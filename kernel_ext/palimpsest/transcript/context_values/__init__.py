"""Values of context management: policies, decisions, what they come to, neutral messages."""
