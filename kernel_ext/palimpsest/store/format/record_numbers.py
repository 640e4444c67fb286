"""Tell by its number whether a record is new, also where one number is wrong.

A log is read in the order of its lines, and a record that was taken in before changes nothing. One
damaged digit must not make all that follows look old: a number that jumps ahead is believed, but
where the very next record falls back into what was jumped over, reading goes on from that one.
"""


class RecordNumbering:
    """Something that takes in records in order."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        """The number of the newest record that was taken in."""
        self._jumped = (0, 0)
        """The numbers between which the last jump left some out."""

    def is_new(self, seq: int) -> bool:
        """Take note of a record's number; False for one that was taken in before."""
        low, high = self._jumped
        if seq > self.seq:
            if seq > self.seq + 1:
                self._jumped = self.seq, seq
        elif self.seq == high and low < seq < high:
            self._jumped = low, seq
        else:
            return False
        self.seq = seq
        return True
