"""Alias of ``palimpsest.review.reconstruction.redecision`` under its former path, kept for one release."""

from palimpsest.review.reconstruction.redecision import redecide as redecide
from palimpsest.review.reconstruction.redecision import redecide_all as redecide_all
