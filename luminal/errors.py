"""Every error a user of luminal can meet. Each message says what failed, where, why, and what to try."""


class LuminalError(Exception):
    """Base class of all luminal errors."""


class ImportFailure(LuminalError):
    """A PyTorch program uses something that the import does not cover; lists every such place."""


class VerifyError(LuminalError):
    """IR is malformed."""


class PassError(LuminalError):
    """A pass failed; the message names the pass and a reproducer."""


class RuleError(LuminalError):
    """A rewrite rule is malformed or unsound (two different constants became equal)."""


class LoweringError(LuminalError):
    """An op has no lowering for a target; names the op, the target and the location."""


class RuntimeFailure(LuminalError):
    """A compiled program cannot run with the given inputs, options or device."""


class InputError(RuntimeFailure, ValueError):
    """Wrong number, shape, dtype, device or size of inputs."""
