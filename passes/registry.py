"""The flat table of luminal's passes: a name, where the pass lives, and where its options live.

Nothing here imports a pass: `PassEntry.load` does, when the pass runs or its options are listed. A pass is a
callable `(op, options)` over a `builtin.module` operation; it may return a mapping of statistics.
"""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PassEntry:
    """One row of the table. `run` and `options` are `module:attribute` paths, imported on use."""

    name: str
    run: str
    options: str

    def load(self) -> Callable[[Any, Any], Mapping[str, object] | None]:
        return _load(self.run)

    def options_class(self) -> type:
        return _load(self.options)

    def summary(self) -> str:
        """The first line of the pass's docstring."""
        return (inspect.getdoc(self.load()) or "").split("\n", 1)[0]


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _entry(name: str, module: str, run: str | None = None, options: str | None = None) -> PassEntry:
    """A row by the naming convention: pass `fold-views` is `fold_views` with `FoldViewsOptions` in its
    module.
    """
    run = run or name.replace("-", "_")
    options = options or "".join(part.capitalize() for part in name.split("-")) + "Options"
    return PassEntry(name, f"{module}:{run}", f"{module}:{options}")


PASSES: dict[str, PassEntry] = {
    entry.name: entry
    for entry in (
        _entry("torch-to-luminal", "luminal.passes.torch_to_luminal"),
        _entry("narrow-symbols", "luminal.passes.narrow_symbols"),
        _entry("canonicalize-views", "luminal.passes.canonicalize_views"),
        _entry("outline-layers", "luminal.passes.outline_layers"),
        _entry("luminal-eqsat", "luminal.passes.luminal_eqsat"),
        _entry("split-reductions", "luminal.passes.split_reductions"),
        _entry("plan-memory", "luminal.passes.plan_memory"),
        _entry("lower-to-gpu", "luminal.lowering.gpu", run="lower_to_gpu_pass", options="SimtOptions"),
        _entry("gpu-to-nvvm", "luminal.lowering.nvvm"),
    )
}


def parse_options(entry: PassEntry, values: Mapping[str, str]) -> Any:
    """The pass's options from the texts of `{key=value ...}`; keys may use dashes for underscores.

    Raises ValueError for an unknown key or a value of the wrong type, naming what is known.
    """
    cls = entry.options_class()
    fields = {f.name: f for f in dataclasses.fields(cls)}
    parsed: dict[str, Any] = {}
    for key, text in values.items():
        field = fields.get(key.replace("-", "_"))
        if field is None:
            known = ", ".join(name.replace("_", "-") for name in fields) or "none"
            raise ValueError(f"pass '{entry.name}' has no option '{key}' (its options: {known})")
        try:
            parsed[field.name] = _convert(text, getattr(cls, field.name, None), str(field.type))
        except ValueError as error:
            raise ValueError(f"option '{key}' of pass '{entry.name}': {error}") from None
    try:
        return cls(**parsed)
    except ValueError as error:
        raise ValueError(f"options of pass '{entry.name}': {error}") from None


def _convert(text: str, default: Any, annotation: str) -> Any:
    """`text` as the type that the field's annotation names."""
    if "tuple" in annotation:
        return tuple(part for part in text.replace(";", ",").split(",") if part)
    if "bool" in annotation:
        if text.lower() not in ("true", "false", "1", "0"):
            raise ValueError(f"expected true or false, got '{text}'")
        return text.lower() in ("true", "1")
    if "None" in annotation and text.lower() == "none":
        return None
    for name, kind in (("int", int), ("float", float)):
        if name in annotation:
            try:
                return kind(text)
            except ValueError:
                raise ValueError(
                    f"expected {'an integer' if kind is int else 'a number'}, got '{text}'"
                ) from None
    return text


def print_options(options: Any) -> str:
    """The options that differ from their defaults, as pipeline text: `{key=value ...}`, or nothing."""
    parts = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value == field.default:
            continue
        if isinstance(value, tuple):
            value = ",".join(map(str, value))
        parts.append(
            f"{field.name.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}"
        )
    return "{" + " ".join(parts) + "}" if parts else ""
