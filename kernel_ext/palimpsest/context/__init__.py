"""Build the request that a model is sent from the transcript: deciders and the projection. Pure."""
