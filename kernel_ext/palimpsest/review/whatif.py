"""Alias of ``palimpsest.review.counterfactual.whatif`` under its former path, kept for one release."""

from palimpsest.review.counterfactual.exact_whatif import replay as replay
from palimpsest.review.counterfactual.whatif import WhatIf as WhatIf
from palimpsest.review.counterfactual.whatif import whatif as whatif
