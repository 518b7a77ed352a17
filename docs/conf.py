"""The site of these documents: `make docs` writes it to build/docs, and every warning is an error."""

import landspeed

project = "landspeed"
author = "the landspeed project"
copyright = "the landspeed project, BSD-3-Clause"
release = landspeed.__version__
language = "en"
smartquotes = False  # two hyphens begin an option

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.generators"]
exclude_patterns = ["generators", "examples", "ARCHITECTURE.md", "CONTRIBUTING.md"]  # the two are pages by `root-page`
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
napoleon_use_ivar = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autoclass_content = "class"
add_module_names = False
nitpicky = True
# Types of the standard library and of other packages: without requests to their sites, their names lead nowhere.
nitpick_ignore_regex = [(r"py:.*", r".*")]
suppress_warnings = ["myst.header"]  # a page that is made begins below its own title

html_theme = "furo"
html_title = f"landspeed {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
