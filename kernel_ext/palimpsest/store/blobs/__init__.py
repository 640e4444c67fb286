"""Large contents by their hash, alone or in packs, and what all of them weigh."""
