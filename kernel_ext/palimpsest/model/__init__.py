"""Talk to models: one protocol, one adapter over litellm, and two models of our own.

``rehearsal`` needs no key and no network; ``replay`` answers from a recorded session.
"""
