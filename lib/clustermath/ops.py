"""The functions a formula may use. Scalars stay Python numbers; NumPy arrays stay arrays."""
from __future__ import annotations

import math
from typing import Any

INF = math.inf
SLACK = 1e-9  # relative: 12.000000001 GPUs is 12 GPUs and a rounding error


def _is_array(x: Any) -> bool:
    return type(x).__module__ == "numpy"


def _elementwise(name: str):
    scalar = getattr(math, name)

    def function(x):
        if _is_array(x):
            import numpy as np

            return getattr(np, name)(x)
        return scalar(x)

    function.__name__ = name
    function.__doc__ = f"{name}(x) of a number or an array."
    return function


floor, sqrt, log2, exp = map(_elementwise, ("floor", "sqrt", "log2", "exp"))


def ceil(x):
    """The least whole number of at least x; a relative excess of 1e-9 is a rounding error."""
    if _is_array(x):
        import numpy as np

        below = np.floor(x)
        return np.where(x - below <= SLACK * np.abs(x), below, below + 1)
    below = math.floor(x)
    return below if x - below <= SLACK * abs(x) else below + 1


def minimum(a, b):
    """The smaller of two, elementwise."""
    if _is_array(a) or _is_array(b):
        import numpy as np

        return np.minimum(a, b)
    return a if a <= b else b


def maximum(a, b):
    """The larger of two, elementwise."""
    if _is_array(a) or _is_array(b):
        import numpy as np

        return np.maximum(a, b)
    return a if a >= b else b
