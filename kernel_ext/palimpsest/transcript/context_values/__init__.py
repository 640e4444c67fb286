"""Values of context management: policies, decisions and their effect, neutral messages."""
