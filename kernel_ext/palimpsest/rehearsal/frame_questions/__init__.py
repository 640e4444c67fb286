"""Answer questions about DataFrames: find the table, link words to columns, compute, describe the result."""
