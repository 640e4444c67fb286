"""Talk to models: one protocol, one adapter over litellm, and a model of our own.

``rehearsal`` needs no key and no network; ``script`` says what it, or a scripted model, answers.
"""
