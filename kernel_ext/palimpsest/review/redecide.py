"""Moved to review.reconstruction.redecision; this path stays for one release."""

from palimpsest.review.reconstruction.redecision import redecide as redecide
from palimpsest.review.reconstruction.redecision import redecide_all as redecide_all
