"""The rehearsal model: embedded, offline, deterministic; rules instead of a language model.

``reply_rules.reply`` is pure; ``Rehearsal`` streams its replies, or a scenario's, as a custom provider.
"""
