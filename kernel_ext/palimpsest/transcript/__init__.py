"""The values that a session is made of, which all other packages share.

Frozen pydantic values, tagged by ``type``; a stored value keeps fields it does not know, so
that an older kernel does not destroy what a newer one wrote. Pure: no clock, no disk.
"""
