"""Random extraction: any program that the e-graph holds, drawn by a seed, for testing that all of them agree.

The choice of each node is made by the work estimate plus a random amount, so it stays well founded: a node's
operands are cheaper than the node under any such weights. Each tensor is stored, or computed where it is
read, by the toss of a coin.
"""

from __future__ import annotations

import random

from .state import Built, Choice, State

SPREAD = 4.0
"""Standard deviation of the logarithm of the random amounts: e^4 outweighs most differences."""


def random_work(generator: random.Random) -> float:
    """Work added to a node."""
    return generator.lognormvariate(0.0, SPREAD)


class Sampler(State):
    """Draws one program. `generator` is set by `draw`."""

    generator: random.Random

    def draw(self, generator: random.Random) -> Choice:
        """A random choice of kernels that computes the roots."""
        self.generator = generator
        for tensor in self.analysis.stored:
            self.decide(tensor, tensor in self.forced or generator.random() < 0.5)
        for cls, nodes in self.analysis.choices.items():
            self.decide(cls, generator.choice(nodes))
        self.repair()
        return self.choice()

    def _best(self, tensor: int) -> Built:
        """Any producer that gives a kernel."""
        forms = [self._build(tensor, node) for node in self.analysis.stored[tensor]]
        possible = [form for form in forms if form.kernel is not None]
        best = self.generator.choice(possible) if possible else forms[0]
        for form in forms:
            best.consulted.update(form.consulted)
        return best
