"""What an emulated kernel can be caught at."""


class EmulationError(Exception):
    """Base class: the kernel did something that a GPU would not define, or that is not modelled."""


class OutOfBounds(EmulationError):
    """A load or store outside every buffer, shared array and stack of the block."""


class Race(EmulationError):
    """Two threads touch the same bytes, one of them writing, with no barrier between."""


class Divergence(EmulationError):
    """Threads that must take part in a barrier or shuffle together do not."""


class Unsupported(EmulationError):
    """The code uses something that the emulator does not model; nothing is run."""
