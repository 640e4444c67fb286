"""The inputs of one run of the loop: context, request cache, compaction state, project files, hooks."""
