"""Send requests to language models: one protocol, one adapter over litellm, and an embedded model.

The embedded model in ``rehearsal`` needs no key and no network; ``script`` describes the answers that it,
or the scripted model of a test, gives.
"""
