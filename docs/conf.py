# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The site that scripts/site.sh builds with Sphinx; scripts/site_pages.py has put the documents together."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]

project = "detgemm"
author = "The detgemm authors"
version = re.search(r'VERSION_STRING "([\d.]+)"', (ROOT / "core/include/detgemm/version.hpp").read_text(encoding="utf-8")).group(1)
extensions = ["myst_parser"]
root_doc = "README"
html_theme = "furo"
html_title = f"detgemm {version}"
html_extra_path = [str(ROOT / "build/site/doxygen")]  # becomes reference/
html_show_sphinx = False
myst_heading_anchors = 6
# Blocks of code whose language Pygments does not know, and pages that no list of pages names: records of runs.
suppress_warnings = ["misc.highlighting_failure", "toc.not_included", "myst.header"]
