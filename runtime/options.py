"""What a user can choose about a compilation.

Every field does something; every value is checked at construction.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from luminal.errors import RuntimeFailure

TARGETS = ("cpu", "interpreter")
"""Targets that can run here: native code, or the slow reference interpreter."""

ProgressCallback = Callable[[str, float | None], None]


class OptionError(RuntimeFailure, ValueError):
    """A compile option is unknown or has a bad value."""


@dataclass(frozen=True)
class CompileOptions:
    """Options of `luminal.compile` and of `torch.compile(model, backend="luminal", options={...})`.

    target: "cpu" runs native code; "interpreter" runs the reference interpreter (slow, exact, for debugging)
    threads: worker threads of a call; 0 is `LUMINAL_THREADS`, else one per processor that this process may
    use search_seconds: time budget of one saturation; what has been found by then is used seed: seed of
    every random choice; equal seeds give equal programs max_memory: bytes that a call may use besides
    inputs and results; more is an error before the call runs freeze_weights: treat parameters as constant
    between calls: they are packed once, and again only when one is
        replaced or changed in place (through the parameter itself: torch does not report changes through
        `.data`; `CompiledModel.refresh_weights` tells)
    outline: compile repeated layers once
    cache_dir: directory of the object cache; None is `LUMINAL_CACHE_DIR`, else the user's cache directory
    progress: True shows compile stages on stderr; a function is called with each stage's name and seconds
    (None as
        it begins)
    """

    target: str = "cpu"
    threads: int = 0
    search_seconds: float = 30.0
    seed: int = 0
    max_memory: int | None = None
    freeze_weights: bool = True
    outline: bool = True
    cache_dir: str | os.PathLike[str] | None = None
    progress: bool | ProgressCallback = False

    def __post_init__(self) -> None:
        _check(self.target in TARGETS, f"target must be one of {', '.join(TARGETS)}, not {self.target!r}")
        _check(
            _is_int(self.threads) and 0 <= self.threads <= 1024,
            f"threads must be 0 to 1024, not {self.threads!r}",
        )
        number = isinstance(self.search_seconds, (int, float)) and not isinstance(self.search_seconds, bool)
        _check(
            number and self.search_seconds > 0,
            f"search_seconds must be positive, not {self.search_seconds!r}",
        )
        _check(
            _is_int(self.seed) and self.seed >= 0, f"seed must be a non-negative integer, not {self.seed!r}"
        )
        _check(
            self.max_memory is None or (_is_int(self.max_memory) and self.max_memory > 0),
            f"max_memory must be a positive number of bytes or None, not {self.max_memory!r}",
        )
        for name in ("freeze_weights", "outline"):
            _check(
                isinstance(getattr(self, name), bool),
                f"{name} must be True or False, not {getattr(self, name)!r}",
            )
        _check(
            self.cache_dir is None or isinstance(self.cache_dir, (str, os.PathLike)),
            f"cache_dir must be a path or None, not {self.cache_dir!r}",
        )
        _check(
            self.cache_dir is None or not Path(self.cache_dir).exists() or Path(self.cache_dir).is_dir(),
            f"cache_dir {str(self.cache_dir)!r} is not a directory",
        )
        _check(
            isinstance(self.progress, bool) or callable(self.progress),
            f"progress must be True, False or a function, not {self.progress!r}",
        )

    @classmethod
    def of(cls, given: CompileOptions | Mapping[str, Any] | None, **defaults: Any) -> CompileOptions:
        """Options from an instance, a mapping of field names, or None; `defaults` fill what a mapping leaves
        out.

        Raises OptionError for an unknown name, listing the known ones.
        """
        if isinstance(given, cls):
            return given
        _check(
            given is None or isinstance(given, Mapping),
            f"options must be CompileOptions or a mapping, not {given!r}",
        )
        values = dict(given or {})
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            _check(name in known, f"unknown option {name!r}; the options are {', '.join(known)}")
        return cls(**{**defaults, **values})


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise OptionError(message)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
