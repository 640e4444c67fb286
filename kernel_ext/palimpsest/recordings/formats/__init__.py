"""The importers: one module a format that another agent records in, and the list of all."""
