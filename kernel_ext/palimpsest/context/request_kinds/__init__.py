"""The inputs of every kind of model request as one value: step, compaction, title and turn summary."""
