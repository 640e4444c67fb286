"""The rehearsal model: built in, offline, deterministic; rules instead of a language model.

``rehearsal_model.Rehearsal`` streams answers like a provider, from the pure function ``reply_rules.reply`` or from a
scenario. ``prompt_kinds`` chooses the rule for a prompt, and begins the plan that answers it.
"""
