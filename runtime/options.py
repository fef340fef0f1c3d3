"""What a user can choose about a compilation.

Every field does something; every value is checked at construction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from luminal.errors import RuntimeFailure

from ..passes.registry import PASSES

TARGETS = ("cpu", "interpreter")
"""Targets that can run here: native code, or the slow reference interpreter."""

OPTIONAL_PASSES = ("canonicalize-views", "outline-layers", "split-reductions")
"""Passes that make programs smaller or faster only: `disable_passes` may name them."""

ProgressCallback = Callable[[str, float | None], None]


class OptionError(RuntimeFailure, ValueError):
    """A compile option is unknown or has a bad value."""


@dataclass(frozen=True)
class CompileOptions:
    """Options of `luminal.compile` and of `torch.compile(model, backend="luminal", options={...})`.

    target: "cpu" is native code; "interpreter" is the reference interpreter (slow and exact, for debugging).
    threads: workers of a call; 0 is `LUMINAL_THREADS`, else one per processor this process may use.
    search_sweeps: search budget: how often extraction may go over the program to improve its choice.
    search_restarts: search budget: how often extraction starts again from random changes of its best choice.
    seed: seed of these changes; equal options, model, versions and tuning database give equal programs.
    search_seconds: search budget: seconds that measuring kernels may take, 0 measures nothing and decides by
        the estimate; None is `LUMINAL_SEARCH_SECONDS`, else 60. What was measured before is in the tuning
        database and costs nothing.
    search_candidates: search budget: most kernels that are measured anew.
    max_memory: bytes a call may use besides inputs and results; more is an error before the call runs.
    freeze_weights: parameters are constant between calls: they are packed once, and again when one is
        replaced or changed in place. Torch does not report changes through `.data`: call
        `CompiledModel.refresh_weights` after those. `torch.compile` leaves this off unless it is given.
    outline: compile repeated layers once.
    disable_rules: families of rewrite rules or single ones to leave out, to find one that is at fault.
    disable_passes: optional passes to leave out, to find one that is at fault: canonicalize-views,
        outline-layers, split-reductions. A pass that no program runs without is refused.
    fast_math: also use laws that hold for well-behaved numbers only (x - x = 0, x / c = x * (1 / c), ...):
        results may differ from eager's in NaN, infinities, the sign of zero, and by more than rounding.
    cache: keep object code on disk, in `LUMINAL_CACHE_DIR`, else the user's cache directory; at most
        `LUMINAL_CACHE_BYTES` (512 MiB unless set), those used longest ago go first.
    buckets: ranges of dynamic sizes that are compiled on their own, chosen per call: `{"seq": [(1, 1), (2,
        512)]}`. A size is called by its `torch.export.Dim`'s name, or by input and axis, `"x.0"`, the only
        way in `torch.compile`. A range is (low, high) or (low, high, representative): kernels are compared at
        the representative, by default the middle, down to a multiple of 16. A range of one size is compiled
        as a static shape. Several names: every combination, at most 64 programs.
    new_buckets: a size in no bucket gets a new one when it first occurs: up to the next power of two, from
        above the last, less the other buckets. At most 32 such programs are kept, those used last. False:
        such a size is an InputError.
    progress: True shows compile stages on stderr; a function is called with each stage's name and its
        seconds, None as it begins.
    """

    target: str = "cpu"
    threads: int = 0
    search_sweeps: int = 4
    search_restarts: int = 0
    seed: int = 0
    search_seconds: float | None = None
    search_candidates: int = 400
    max_memory: int | None = None
    freeze_weights: bool = True
    outline: bool = True
    disable_rules: tuple[str, ...] = ()
    disable_passes: tuple[str, ...] = ()
    fast_math: bool = False
    cache: bool = True
    buckets: Mapping[str, Sequence[tuple[int, ...]]] = dataclasses.field(default_factory=dict, hash=False)
    new_buckets: bool = False
    progress: bool | ProgressCallback = False

    def __post_init__(self) -> None:
        _check(self.target in TARGETS, f"target must be one of {', '.join(TARGETS)}, not {self.target!r}")
        _check(
            _is_int(self.threads) and 0 <= self.threads <= 1024,
            f"threads must be 0 to 1024, not {self.threads!r}",
        )
        for name in ("search_sweeps", "search_restarts", "seed", "search_candidates"):
            number = getattr(self, name)
            _check(_is_int(number) and number >= 0, f"{name} must be a non-negative integer, not {number!r}")
        _check(
            self.max_memory is None or (_is_int(self.max_memory) and self.max_memory > 0),
            f"max_memory must be a positive number of bytes or None, not {self.max_memory!r}",
        )
        budget = self.search_seconds
        _check(
            budget is None
            or (isinstance(budget, int | float) and not isinstance(budget, bool) and budget >= 0),
            f"search_seconds must be a non-negative number or None, not {budget!r}",
        )
        for name in ("freeze_weights", "outline", "fast_math", "cache", "new_buckets"):
            _check(
                isinstance(getattr(self, name), bool),
                f"{name} must be True or False, not {getattr(self, name)!r}",
            )
        for field in ("disable_rules", "disable_passes"):
            names = getattr(self, field)
            valid = isinstance(names, tuple) and all(isinstance(n, str) for n in names)
            _check(valid, f"{field} must be a tuple of names, not {names!r}")
        for name in self.disable_passes:
            _check(
                name in OPTIONAL_PASSES,
                f"disable_passes: {_why_not_optional(name)}; {', '.join(OPTIONAL_PASSES)} may be left out",
            )
        _check_buckets(self.buckets, self.new_buckets)
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
        if given is not None and not isinstance(given, Mapping):
            raise OptionError(f"options must be CompileOptions or a mapping, not {given!r}")
        values = dict(given or {})
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            _check(name in known, f"unknown option {name!r}; the options are {', '.join(known)}")
        return cls(**{**defaults, **values})


def _why_not_optional(name: str) -> str:
    return f"no program runs without {name!r}" if name in PASSES else f"no pass is called {name!r}"


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise OptionError(message)


def _check_buckets(buckets: object, new_buckets: bool) -> None:
    from .buckets import parse_buckets

    parse_buckets(buckets)
    _check(bool(buckets) or not new_buckets, "new_buckets needs buckets: the sizes that are cut in ranges")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
