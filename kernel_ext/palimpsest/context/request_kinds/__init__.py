"""Any request as one value: a step's, a summary's, a title's, a turn summary's."""
