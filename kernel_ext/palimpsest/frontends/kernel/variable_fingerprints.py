"""Fingerprint variables, so that a change within one is noticed without keeping a copy of it.

Border: runs on the main thread and runs none of the user's code: only exact types of Python, NumPy and
pandas are looked into, through attributes that no class of the user can have replaced. Data beyond a few
megabytes is sampled, and what is sampled, or of a type that is not looked into, says so: whether that
changed is then told by the source of the cells that ran (``context/engine_text/mutated_names.py``).
"""

import ctypes
import sys
import time
import zlib
from collections.abc import Callable, Container
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from palimpsest.frontends.kernel.held_values import attributes_of
from palimpsest.frontends.kernel.variable_types import is_a, is_array, is_frame, is_series

WHOLE_BYTES = 8_000_000
"""Arrays up to this size are read whole; larger ones are sampled."""
SAMPLE_BYTES = 4_096
SAMPLES = 192
"""Pieces of a large array that are read, evenly spaced, beside its beginning and its end."""
EDGE_BYTES = 262_144
MOST_ITEMS = 20_000
"""Items of one container that are looked at."""
DEPTH = 4
"""How deep containers within containers are looked into."""
ALL_SECONDS = 0.03
"""Time for all variables of one look; those that come later are not compared."""

_ATOMS = (int, float, complex, bool, str, bytes, type(None))
_INDEXES = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex")
_IMMUTABLE = (FunctionType, BuiltinFunctionType, type, range, type(Ellipsis))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a variable was when it was looked at."""

    mark: int
    """Equal marks mean that nothing changed, as far as it was looked at."""
    whole: bool
    """All of its contents went into the mark; otherwise a change may have been missed."""


UNKNOWN = Fingerprint(0, whole=False)


class Fingerprints:
    """Fingerprints of one look, which share a limit of time.

    With ``lasting`` they mean the same in another process too, so a value that only its place in memory
    tells from others has none.
    """

    def __init__(
        self,
        seconds: float = ALL_SECONDS,
        *,
        lasting: bool = False,
        kernels: Container[object] = (),
    ) -> None:
        """``kernels`` are the objects that are not looked into: a checksum of a cell's source tells of it."""
        self._kernels = kernels
        self._lasting = lasting
        self._hash: Callable[[Any], int] = _lasting_hash if lasting else hash
        self._end = time.perf_counter() + seconds
        self._whole = True
        self._items = 0

    def of(self, value: Any) -> Fingerprint:
        """Return the fingerprint of a value; one that took too long is marked as not whole."""
        if time.perf_counter() > self._end:
            return UNKNOWN
        self._whole, self._items = True, 0
        try:
            mark = self._mark(value, DEPTH)
        except Exception:  # noqa: BLE001  # a half-made array, a container that another thread changes
            return UNKNOWN
        return Fingerprint(mark, whole=self._whole)

    def _identity(self, value: Any) -> int:
        """Return a mark of which object a value is; raises _NoLastingMark where marks are to last."""
        if self._lasting:
            raise _NoLastingMark
        return id(value)

    def _mark(self, value: Any, depth: int) -> int:
        kind = type(value)
        if kind in _ATOMS:
            return self._hash((kind.__name__, value))
        if kind in _IMMUTABLE:
            return self._identity(value)
        if value in self._kernels:
            self._whole = False
            return self._identity(value)
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, depth)
        if is_array(value):
            return self._array(value, depth)
        if is_frame(value) or is_series(value):
            return self._frame(value, depth)
        if any(is_a(value, "pandas", name) for name in _INDEXES):
            return self._identity(value)  # an index never changes
        return self._instance(value, depth)

    def _container(self, value: Any, depth: int) -> int:
        kind = type(value)
        if not value or depth == 0:
            self._whole = self._whole and not value
            return self._hash((kind.__name__, len(value), self._identity(value) if value else 0))
        marks = []
        # A copy first: another thread may change the container meanwhile.
        items = list(value.items()) if kind is dict else list(value)
        for at, item in enumerate(items):
            self._items += 1
            if self._items > MOST_ITEMS or (at % 512 == 511 and time.perf_counter() > self._end):
                self._whole = False
                # The end is where things are appended.
                marks.append(self._identity(items[-1]))
                break
            if kind is dict:
                marks.append(self._mark(item[0], depth - 1))
                marks.append(self._mark(item[1], depth - 1))
            else:
                marks.append(self._mark(item, depth - 1))
        if kind in (set, frozenset):
            marks.sort()
        return self._hash((kind.__name__, len(items), tuple(marks)))

    def _array(self, value: Any, depth: int) -> int:
        numpy = sys.modules["numpy"]
        head = (value.shape, str(value.dtype), value.strides)
        if value.dtype.hasobject:
            return self._hash((head, self._objects(value, depth)))
        if value.nbytes == 0:
            return self._hash(head)
        if not value.flags.c_contiguous and not value.flags.f_contiguous:
            if value.nbytes > WHOLE_BYTES:
                self._whole = False
                value = value[tuple(slice(None, None, max(1, n // 64)) for n in value.shape)]
            return self._hash((head, zlib.crc32(numpy.ascontiguousarray(value).tobytes())))
        return self._hash((head, self._memory(value.__array_interface__["data"][0], value.nbytes)))

    def _objects(self, value: Any, depth: int) -> int:
        """Return the mark of an array of Python objects: which they are, and what small ones hold."""
        if value.size <= MOST_ITEMS and depth > 0:
            return self._hash(tuple(self._mark(one, depth - 1) for one in value.ravel().tolist()))
        self._whole = False
        if not self._lasting and (value.flags.c_contiguous or value.flags.f_contiguous):
            return self._memory(value.__array_interface__["data"][0], value.nbytes)
        return self._identity(value)

    def _memory(self, address: int, size: int) -> int:
        """Return a checksum of memory; of a large piece, of its ends and of samples between them."""
        if size <= WHOLE_BYTES:
            return zlib.crc32((ctypes.c_char * size).from_address(address))
        self._whole = False
        mark = zlib.crc32((ctypes.c_char * EDGE_BYTES).from_address(address))
        mark = zlib.crc32(
            (ctypes.c_char * EDGE_BYTES).from_address(address + size - EDGE_BYTES), mark
        )
        step = (size - SAMPLE_BYTES) // SAMPLES
        for at in range(0, size - SAMPLE_BYTES, step):
            mark = zlib.crc32((ctypes.c_char * SAMPLE_BYTES).from_address(address + at), mark)
        return mark

    def _frame(self, value: Any, depth: int) -> int:
        marks: list[Any] = [value.shape]
        marks += [self._labels(axis) for axis in value.axes]
        manager = getattr(value, "_mgr", None)
        for block in getattr(manager, "blocks", ()):
            marks += [
                tuple(block.mgr_locs.as_array.tolist()[:512]),
                self._block(block.values, depth),
            ]
        if manager is None:
            self._whole = False
        return self._hash(tuple(marks))

    def _labels(self, index: Any) -> int:
        if len(index) > 2_000 or type(index).__name__ not in ("Index", "RangeIndex"):
            return self._identity(index)
        return self._hash(tuple(self._mark(one, 1) for one in index.tolist()))

    def _block(self, values: Any, depth: int) -> int:
        """Return the mark of one block of a frame: an array, or one of pandas' own kinds of array."""
        if is_array(values):
            return self._array(values, depth)
        kind = type(values)
        arrays = getattr(sys.modules["pandas"], "arrays", None)
        marks: list[int] = []
        # Only pandas' own classes: another library's array may compute its attributes.
        if kind is not getattr(
            arrays, kind.__name__, getattr(sys.modules["pandas"], kind.__name__, None)
        ):
            self._whole = False
            return self._identity(values)
        for name in ("_ndarray", "_data", "_mask"):
            one = getattr(values, name, None)
            if is_array(one):
                marks.append(self._array(one, depth))
        # Arrow's arrays never change; one with other contents is another object.
        arrow = getattr(values, "_pa_array", None)
        if arrow is not None:
            marks.append(self._arrow(arrow) if self._lasting else id(arrow))
        if not marks:
            self._whole = False
            marks.append(self._identity(values))
        return self._hash(tuple(marks))

    def _arrow(self, value: Any) -> int:
        """Return a checksum of an Arrow array's buffers; one made by a class of the user has no lasting mark."""
        if type(value).__module__ != "pyarrow.lib":
            return self._identity(value)
        buffers = [one for chunk in value.chunks for one in chunk.buffers() if one is not None]
        return self._hash(
            (str(value.type), len(value), *(self._memory(one.address, one.size) for one in buffers))
        )

    def _instance(self, value: Any, depth: int) -> int:
        """Return the mark of an object: which it is, and what its attributes hold."""
        held = attributes_of(value)
        if held is None or depth < DEPTH - 1:
            self._whole = False
            return self._identity(value)
        # The object may keep more than attributes (a C extension, slots).
        self._whole = False
        return self._hash((self._identity(value), self._container(held, 2) if held else 0))


class _NoLastingMark(Exception):
    """Another process could not make the same mark."""


def _lasting_hash(value: Any) -> int:
    """Return a checksum of numbers and texts that is the same in each process, as ``hash`` is not."""
    return zlib.crc32(repr(value).encode("utf-8", "backslashreplace"))
