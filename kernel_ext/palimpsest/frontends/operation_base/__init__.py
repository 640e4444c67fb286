"""The base class of operations, and the grammar and completion of their arguments."""
