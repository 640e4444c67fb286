"""The inspector's kernel side: answers in worker threads, the cell's widget, the saved output and the report."""
