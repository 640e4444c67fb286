"""The ``Session`` object of the Python API, and the parts it is made of."""
