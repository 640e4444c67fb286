"""Moved to review.counterfactual.whatif; this path stays for one release."""

from palimpsest.review.counterfactual.whatif import WhatIf as WhatIf
from palimpsest.review.counterfactual.whatif import replay as replay
from palimpsest.review.counterfactual.whatif import whatif as whatif
