"""The language everybody speaks: the values that a session is made of.

Frozen pydantic values, tagged by ``type``; what is stored keeps fields it does not know, so
that an older kernel does not destroy what a newer one wrote. Pure: no clock, no disk.
"""
