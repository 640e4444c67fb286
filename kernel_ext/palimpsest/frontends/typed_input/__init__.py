"""Ask questions as text, and parse typed answers, amounts, and decisions about a held request."""
