"""Stands for a package that jsonschema can do without; servers that tests start find it first.

The real one builds 38 grammars when it is imported, which takes two seconds of CPU, to validate addresses
that no schema in the tests has.
"""

raise ImportError("left out in tests")
