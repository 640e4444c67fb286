"""All sessions of a folder as one table, and policies compared over all of them on many processes."""
