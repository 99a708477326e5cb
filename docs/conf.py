"""The settings of the site; ``python -m sphinx -W docs docs/_build`` builds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import rageval_report

project = "rageval-report"
author = "the authors of rageval-report"
release = version = rageval_report.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "site_pages",
]
exclude_patterns = [
    "_build",
    "_extensions",
    "jupyter_execute",
    "plugin_template",
    "**/.ipynb_checkpoints",
]
nitpicky = True
default_role = "name"

# Pages are plain Markdown; headings have the anchors that code-hosting sites give them.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Notebooks are shown with the results that they hold, because tests run them.
nb_execution_mode = "off"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / ".notebooks")

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"rageval-report {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_extensions" / "search_scorer.js")
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
