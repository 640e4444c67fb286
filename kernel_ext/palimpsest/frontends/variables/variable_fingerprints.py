"""Fingerprint variables, to detect a change inside a value without a copy of it, or another input of a later run.

Border: runs on the main thread without running user code: only exact types of Python, NumPy and
pandas are read, through attributes that no class of the user can have replaced. Data beyond a few
megabytes is sampled. A fingerprint of a sample, or of a type that is not read, is marked as incomplete: whether
it changed is then derived from the source of the cells that ran (``context/engine_text/mutated_names.py``).
"""

import ast
import ctypes
import sys
import time
import zlib
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from palimpsest.frontends.variables.held_values import attributes_of
from palimpsest.frontends.variables.variable_types import is_array, is_frame, is_of_type, is_series

MAX_WHOLE_BYTES = 8_000_000
"""Size up to which an array is read completely; larger ones are sampled."""
SAMPLE_BYTES = 4_096
SAMPLE_COUNT = 192
"""Number of evenly spaced samples of a large array, beside its beginning and its end."""
EDGE_BYTES = 262_144
MAX_ITEMS = 20_000
"""Maximum items of a value that are read."""
MAX_LABELS = 2_000
"""Maximum labels of an index whose values are read; a longer index counts by its identity."""
MAX_BLOCK_COLUMNS = 512
"""Maximum columns of a block of a frame whose positions are read."""
MAX_SAMPLES_PER_AXIS = 64
"""About the number of samples along each axis of a large array whose memory is not contiguous."""
ITEMS_PER_TIME_CHECK = 512
MAX_ATTRIBUTES_DEPTH = 2
"""Levels of an object's attributes that are read."""
MAX_DEPTH = 4
"""Maximum levels of nested containers that are read."""
MAX_SECONDS = 0.03
"""Time for all variables; those that are not reached have no fingerprint."""
MAX_INPUTS = 40
"""Maximum names of a piece of code whose checksums are computed."""
MAX_INPUT_SECONDS = 0.02
"""Time for all variables that a piece of code reads."""

_ATOMS = (int, float, complex, bool, str, bytes, type(None))
_INDEX_NAMES = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex")
_IMMUTABLE = (FunctionType, BuiltinFunctionType, type, range, type(Ellipsis))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A checksum of a variable's value."""

    checksum: int
    """The checksum; equal ones mean that no part that was read has changed."""
    is_complete: bool
    """Whether the checksum covers the complete value; otherwise it may miss a change."""


NO_FINGERPRINT = Fingerprint(0, is_complete=False)


class Fingerprints:
    """Computes fingerprints within a shared time limit.

    With ``is_lasting`` they can be compared with those of another process, so a value that is distinguished only by its
    address has none.
    """

    def __init__(
        self,
        seconds: float = MAX_SECONDS,
        *,
        is_lasting: bool = False,
        kernel_objects: Container[object] = (),
    ) -> None:
        """``kernel_objects`` are objects that are not read: a checksum of a hidden cell's source could reveal it."""
        self._kernel_objects = kernel_objects
        self._is_lasting = is_lasting
        self._hash_value: Callable[[Any], int] = _lasting_hash if is_lasting else hash
        self._deadline = time.perf_counter() + seconds
        self._is_complete = True
        self._item_count = 0

    def fingerprint_of(self, value: Any) -> Fingerprint:
        """Return the fingerprint of a value; incomplete where the time limit was reached."""
        if time.perf_counter() > self._deadline:
            return NO_FINGERPRINT
        self._is_complete, self._item_count = True, 0
        try:
            checksum = self._checksum(value, MAX_DEPTH)
        except Exception:  # noqa: BLE001  # a half-made array, a container that another thread changes
            return NO_FINGERPRINT
        return Fingerprint(checksum, is_complete=self._is_complete)

    def _identity(self, value: Any) -> int:
        """Return the identity of a value; raises _NoLastingChecksum for lasting fingerprints."""
        if self._is_lasting:
            raise _NoLastingChecksum
        return id(value)

    def _checksum(self, value: Any, depth: int) -> int:
        value_type = type(value)
        if value_type in _ATOMS:
            return self._hash_value((value_type.__name__, value))
        if value_type in _IMMUTABLE:
            return self._identity(value)
        if value in self._kernel_objects:
            self._is_complete = False
            return self._identity(value)
        if value_type in (list, tuple, set, frozenset, dict):
            return self._container_checksum(value, depth)
        if is_array(value):
            return self._array_checksum(value, depth)
        if is_frame(value) or is_series(value):
            return self._frame_checksum(value, depth)
        if any(is_of_type(value, "pandas", name) for name in _INDEX_NAMES):
            return self._identity(value)  # an index never changes
        return self._instance_checksum(value, depth)

    def _container_checksum(self, value: Any, depth: int) -> int:
        value_type = type(value)
        if not value or depth == 0:
            self._is_complete = self._is_complete and not value
            return self._hash_value(
                (value_type.__name__, len(value), self._identity(value) if value else 0)
            )
        checksums = []
        # Copy the container first, since another thread may change it meanwhile.
        items = list(value.items()) if value_type is dict else list(value)
        for position, item in enumerate(items):
            self._item_count += 1
            is_late = (
                position % ITEMS_PER_TIME_CHECK == ITEMS_PER_TIME_CHECK - 1
                and time.perf_counter() > self._deadline
            )
            if self._item_count > MAX_ITEMS or is_late:
                self._is_complete = False
                # Include the last item, since items are mostly appended.
                checksums.append(self._identity(items[-1]))
                break
            if value_type is dict:
                checksums.append(self._checksum(item[0], depth - 1))
                checksums.append(self._checksum(item[1], depth - 1))
            else:
                checksums.append(self._checksum(item, depth - 1))
        if value_type in (set, frozenset):
            checksums.sort()
        return self._hash_value((value_type.__name__, len(items), tuple(checksums)))

    def _array_checksum(self, value: Any, depth: int) -> int:
        numpy = sys.modules["numpy"]
        header = (value.shape, str(value.dtype), value.strides)
        if value.dtype.hasobject:
            return self._hash_value((header, self._object_array_checksum(value, depth)))
        if value.nbytes == 0:
            return self._hash_value(header)
        if not value.flags.c_contiguous and not value.flags.f_contiguous:
            if value.nbytes > MAX_WHOLE_BYTES:
                self._is_complete = False
                value = value[
                    tuple(slice(None, None, max(1, n // MAX_SAMPLES_PER_AXIS)) for n in value.shape)
                ]
            return self._hash_value((header, zlib.crc32(numpy.ascontiguousarray(value).tobytes())))
        return self._hash_value(
            (header, self._memory_checksum(value.__array_interface__["data"][0], value.nbytes))
        )

    def _object_array_checksum(self, value: Any, depth: int) -> int:
        """Return a checksum of an array of Python objects: of the items of a small array, else of their identities."""
        if value.size <= MAX_ITEMS and depth > 0:
            return self._hash_value(
                tuple(self._checksum(item, depth - 1) for item in value.ravel().tolist())
            )
        self._is_complete = False
        if not self._is_lasting and (value.flags.c_contiguous or value.flags.f_contiguous):
            return self._memory_checksum(value.__array_interface__["data"][0], value.nbytes)
        return self._identity(value)

    def _memory_checksum(self, address: int, size: int) -> int:
        """Return a checksum of memory; for a large block, of its ends and of samples between them."""
        if size <= MAX_WHOLE_BYTES:
            return zlib.crc32((ctypes.c_char * size).from_address(address))
        self._is_complete = False
        checksum = zlib.crc32((ctypes.c_char * EDGE_BYTES).from_address(address))
        end_bytes = (ctypes.c_char * EDGE_BYTES).from_address(address + size - EDGE_BYTES)
        checksum = zlib.crc32(end_bytes, checksum)
        step = (size - SAMPLE_BYTES) // SAMPLE_COUNT
        for offset in range(0, size - SAMPLE_BYTES, step):
            sample = (ctypes.c_char * SAMPLE_BYTES).from_address(address + offset)
            checksum = zlib.crc32(sample, checksum)
        return checksum

    def _frame_checksum(self, value: Any, depth: int) -> int:
        checksums: list[Any] = [value.shape]
        checksums += [self._label_checksum(axis) for axis in value.axes]
        manager = getattr(value, "_mgr", None)
        for block in getattr(manager, "blocks", ()):
            checksums += [
                tuple(block.mgr_locs.as_array.tolist()[:MAX_BLOCK_COLUMNS]),
                self._block_checksum(block.values, depth),
            ]
        if manager is None:
            self._is_complete = False
        return self._hash_value(tuple(checksums))

    def _label_checksum(self, index: Any) -> int:
        if len(index) > MAX_LABELS or type(index).__name__ not in ("Index", "RangeIndex"):
            return self._identity(index)
        return self._hash_value(tuple(self._checksum(label, 1) for label in index.tolist()))

    def _block_checksum(self, values: Any, depth: int) -> int:
        """Return a checksum of a block of a frame: a NumPy array, or an array of pandas."""
        if is_array(values):
            return self._array_checksum(values, depth)
        value_type, pandas = type(values), sys.modules["pandas"]
        arrays = getattr(pandas, "arrays", None)
        checksums: list[int] = []
        # Only classes of pandas: another library's array may compute its attributes.
        if value_type is not getattr(
            arrays, value_type.__name__, getattr(pandas, value_type.__name__, None)
        ):
            self._is_complete = False
            return self._identity(values)
        for name in ("_ndarray", "_data", "_mask"):
            array = getattr(values, name, None)
            if is_array(array):
                checksums.append(self._array_checksum(array, depth))
        # Arrow's arrays are immutable; other contents mean another object.
        arrow_array = getattr(values, "_pa_array", None)
        if arrow_array is not None:
            checksums.append(
                self._arrow_checksum(arrow_array) if self._is_lasting else id(arrow_array)
            )
        if not checksums:
            self._is_complete = False
            checksums.append(self._identity(values))
        return self._hash_value(tuple(checksums))

    def _arrow_checksum(self, value: Any) -> int:
        """Return a checksum of an Arrow array's buffers; an instance of another class has no lasting one."""
        if type(value).__module__ != "pyarrow.lib":
            return self._identity(value)
        buffers = [
            buffer for chunk in value.chunks for buffer in chunk.buffers() if buffer is not None
        ]
        checksums = [self._memory_checksum(buffer.address, buffer.size) for buffer in buffers]
        return self._hash_value((str(value.type), len(value), *checksums))

    def _instance_checksum(self, value: Any, depth: int) -> int:
        """Return a checksum of an object: its identity, and its attributes."""
        # The object may have more state than attributes (a C extension, slots).
        self._is_complete = False
        identity, attributes = self._identity(value), attributes_of(value)
        if attributes is None or depth < MAX_DEPTH - 1:
            return identity
        attributes_checksum = (
            self._container_checksum(attributes, MAX_ATTRIBUTES_DEPTH) if attributes else 0
        )
        return self._hash_value((identity, attributes_checksum))


class _NoLastingChecksum(Exception):
    """The value has no checksum that is the same in another process."""


def _lasting_hash(value: Any) -> int:
    """Return a checksum of numbers and texts that, unlike ``hash``, is the same in each process."""
    return zlib.crc32(repr(value).encode("utf-8", "backslashreplace"))


def input_checksums(
    code: str,
    variables: Mapping[str, Any],
    kernel_objects: Container[object] = (),
    *,
    seconds: float = MAX_INPUT_SECONDS,
) -> dict[str, str]:
    """Return checksums of existing variables that code reads, by name, except the kernel's own objects.

    Variables that are not reached within ``seconds`` have none, and those without a lasting checksum: an object of a
    class, a module, data beyond a few megabytes.

    >>> input_checksums("x + y", {"x": 1})
    {'x': 'f8a93d6b'}
    """
    fingerprints = Fingerprints(seconds, is_lasting=True, kernel_objects=kernel_objects)
    checksums: dict[str, str] = {}
    for name in _read_names(code)[:MAX_INPUTS]:
        if name not in variables:
            continue
        fingerprint = fingerprints.fingerprint_of(variables[name])
        if fingerprint.is_complete:
            checksums[name] = f"{fingerprint.checksum & 0xFFFFFFFF:08x}"
    return checksums


def _read_names(code: str) -> list[str]:
    """Return the names that code reads, in order; empty where it is not plain Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = (
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )
    return list(dict.fromkeys(names))
