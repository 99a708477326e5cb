"""Pictures as files: drawn without pyplot, and the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rageval_report.errors import UnknownNameError
from rageval_report.files.writing import check_free, write_with
from rageval_report.plots import plot_named
from rageval_report.plots.canvas import FittedAxes, roomy_layout
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import BuiltInPlot, MetricNames

# What a file says of its making is left out, so that the same picture is the same file.
_UNDATED: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
    ".svg": {"Date": None},
}


def draw_figure(subject: object, kind: str | Plot, *args: MetricNames, **options: object) -> Figure:
    """A plot on a figure of its own that pyplot does not know, of the size that the plot asks for.

    Parameters
    ----------
    subject, kind, *args, **options
        As in `rageval_report.plots.plot`.

    Returns
    -------
    Figure
    """
    figure = Figure(layout=roomy_layout())
    FigureCanvasAgg(figure)
    entry = plot_named(kind)
    entry(subject, *args, ax=figure.add_subplot(axes_class=FittedAxes), **options)
    return figure


def save_plot(
    subject: object,
    kind: BuiltInPlot | Plot,
    path: str | Path,
    *args: MetricNames,
    dpi: float = 150,
    force: bool = True,
    **options: object,
) -> Path:
    """Draw a subject into a file.

    Parameters
    ----------
    subject, kind, *args, **options
        As in `rageval_report.plots.plot`, without ``ax=``.
    path : str or Path
        The suffix chooses the format: .png, .svg, .pdf.
    dpi : float
        Dots per inch, of .png.
    force : bool
        Whether an existing file is replaced, as pandas does; else it is an error.

    Returns
    -------
    Path

    Raises
    ------
    UnknownNameError
        If the suffix is not one of them.
    DataError
        If the file exists and may not be replaced, or cannot be written, or there is nothing to
        draw.

    Notes
    -----
    Pyplot is not used, so nothing is left behind and no window opens; the same picture is the same
    file, byte for byte, with one version of matplotlib.

    Examples
    --------
    >>> import tempfile
    >>> from rageval_report.demo import demo_evaluations
    >>> bm25, hybrid = demo_evaluations()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_plot(bm25, "differences", f"{folder}/recall.svg", "recall@5", other=hybrid).name
    'recall.svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _UNDATED:
        raise UnknownNameError("format of a picture", suffix or str(path), _UNDATED)
    check_free(path, force=force)
    figure = draw_figure(subject, kind, *args, **options)
    # Without a salt matplotlib derives the ids of an SVG from a random UUID.
    with mpl.rc_context({"svg.hashsalt": "rageval_report"}):
        return write_with(
            path, lambda temporary: figure.savefig(temporary, dpi=dpi, metadata=_UNDATED[suffix])
        )
