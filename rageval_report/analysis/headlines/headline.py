"""`Headline`: the sentences above everything else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Headline:
    """The answer, what supports it, and where it does not hold.

    Parameters
    ----------
    text : str
        The answer in one sentence.
    basis : str
        What was compared, and what was left out.
    details : tuple of str
        The sizes of the differences, and what is undecided.
    exceptions : tuple of str
        The groups of queries in which the opposite is shown.

    Examples
    --------
    >>> headline = Headline("hybrid is best.", "2 pipelines", ("Best on 2 of 3 metrics.",))
    >>> headline.sentences
    ('hybrid is best.', 'Best on 2 of 3 metrics.', 'Compared: 2 pipelines.')
    """

    text: str
    basis: str
    details: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, in the order in which it is read."""
        warnings = (f"{NOT_EVERYWHERE} {text}" for text in self.exceptions)
        return (self.text, *self.details, *warnings, f"Compared: {self.basis}.")


NOT_EVERYWHERE = "Not everywhere."
"""What opens the sentence about a group of queries in which the opposite is shown."""
