"""The type aliases that every room shares: arrays by element, objects of JSON files, waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BoolArray",
    "Complex64Array",
    "ComplexArray",
    "Float32Array",
    "FloatArray",
    "IndexArray",
    "IntArray",
    "JsonObject",
    "Sleep",
    "WordArray",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ComplexArray = npt.NDArray[np.complex128]
Complex64Array = npt.NDArray[np.complex64]

# Vectors that a model of embeddings returns.
Float32Array = npt.NDArray[np.float32]

# Places in another array, as `numpy.argsort` and `numpy.flatnonzero` give them.
IndexArray = npt.NDArray[np.intp]
WordArray = npt.NDArray[np.uint64]  # eight bytes of text per element

# A parsed JSON object: its values are checked one by one where they are read.
JsonObject = Mapping[str, Any]

# Waits the given number of seconds; tests pass one that only notes them.
Sleep = Callable[[float], object]
