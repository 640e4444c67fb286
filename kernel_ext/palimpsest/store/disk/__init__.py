"""Files written whole, opened only when regular, and the errors of disks in a sentence."""
