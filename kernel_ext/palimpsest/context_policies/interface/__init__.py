"""The interface of a context policy: what it sees, what it decides, pipelines, and the laws that it keeps."""
