"""Alias of ``palimpsest.ipython_extension`` under its former name, kept for one release."""

from palimpsest.ipython_extension import current_session as current_session
from palimpsest.ipython_extension import load_ipython_extension as load_ipython_extension
from palimpsest.ipython_extension import unload_ipython_extension as unload_ipython_extension
