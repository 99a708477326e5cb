"""A page to review a golden set in any browser: one file that needs no server and no network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from importlib import resources

import jinja2
from markupsafe import Markup

from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.errors import explain_keywords
from rageval_report.golden.golden_review import FORMAT, FORMAT_VERSION, review_rows

_FILE = "review_page.html"

# Characters that could end the element with the data, or are line ends in a script.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
                          "\u2028": "\\u2028", "\u2029": "\\u2029"})  # fmt: skip


@explain_keywords
def review_page(
    items: Iterable[GoldenItem],
    *,
    title: str = "golden set",
    documents: Mapping[str, str] | None = None,
) -> str:
    """An HTML page to accept, edit or reject each item, and to save the decisions to a file.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    title : str
        The title of the page.
    documents : mapping of str to str, optional
        Texts by filename or id, so that the passages are shown.

    Returns
    -------
    str
        HTML that needs no network. `read_review` reads the file that it saves.

    Examples
    --------
    >>> page = review_page([GoldenItem("a", "</script>?")], title="a & b")
    >>> "Review of a &amp; b" in page, "</script>?" in page
    (True, False)
    """
    rows = review_rows(items, documents)
    # The page keeps unsaved decisions in the browser under this key: a changed set must not find
    # those of an older one.
    versions = "\n".join(f"{row['query_id']} {row['fingerprint']}" for row in rows)
    data = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "key": blake2b(versions.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        "file": "review.json",
        "items": rows,
    }
    text = json.dumps(data).translate(_ESCAPES)
    source = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True).from_string(source)
    return template.render(title=title, data=Markup(text))  # noqa: S704  (escaped above)
