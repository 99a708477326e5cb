"""A page to review a golden set in any browser: one file that needs no server and no network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from importlib import resources

import jinja2
from markupsafe import Markup

from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.golden.golden_review import FORMAT, FORMAT_VERSION, review_rows

_FILE = "review_page.html"

# What would end the element that holds the data, or is no letter of a script.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                          "\u2028": "\\u2028", "\u2029": "\\u2029"})  # fmt: skip


def review_page(
    items: Iterable[GoldenItem],
    *,
    title: str = "golden set",
    documents: Mapping[str, str] | None = None,
) -> str:
    """The page: accept, edit or reject each item, then save the decisions to a file.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    title : str
        What it is called.
    documents : mapping of str to str, optional
        Texts by filename or id, so that the passages are shown.

    Returns
    -------
    str
        HTML that asks nothing of a network. The file that it saves is read by `read_review`.

    Examples
    --------
    >>> page = review_page([GoldenItem("a", "</script>?")], title="a & b")
    >>> "Review of a &amp; b" in page, "</script>?" in page
    (True, False)
    """
    rows = review_rows(items, documents)
    seen = "\n".join(f"{row['query_id']} {row['fingerprint']}" for row in rows)
    data = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "key": blake2b(seen.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        "file": "review.json",
        "items": rows,
    }
    text = json.dumps(data).translate(_ESCAPES)
    source = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True).from_string(source)
    return template.render(title=title, data=Markup(text))  # noqa: S704  (escaped above)
