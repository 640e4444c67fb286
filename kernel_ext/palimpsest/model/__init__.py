"""Send requests to language models: one protocol, one adapter over litellm, and requests without it.

``script`` describes the answers that the rehearsal model, or the scripted model of a test, gives.
"""
