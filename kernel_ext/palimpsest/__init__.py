"""Palimpsest: an agent that lives in a notebook's kernel, with its context laid open.

The trip of a message::

    frontends -> session -> loop -> context -> model -> processor -> store -> frontends

A prompt enters by a magic or a control message (``frontends``), is admitted to the session's
inbox (``session``), and starts or steers a turn (``loop``). Each step projects the transcript
to a request (``context``), streams the answer (``model``) into parts (``processor``), which run
tools (``tools``), and every change is journaled (``store``) before anybody is told. ``render``
puts parts into words, ``transcript`` is the language everybody speaks, and ``review`` reads what
the trip left behind.
"""

__version__ = "0.1.0"
