#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# site.sh: the documents and the reference of the public headers as a site, build/site/html. It fails on a
# link that leads nowhere. Needs doxygen and PyPI; takes about a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

site=build/site
if [ ! -x $site/tools/bin/sphinx-build ]; then
  python3 -m venv $site/tools
  $site/tools/bin/python -m pip install --quiet --disable-pip-version-check \
    'sphinx==9.0.4' 'myst-parser==5.2.0' 'furo==2025.12.19'
fi
$site/tools/bin/python scripts/site_pages.py . $site/pages
rm -rf $site/doxygen $site/html
mkdir -p $site/doxygen
{
  cat docs/Doxyfile
  printf '%s\n' "OUTPUT_DIRECTORY = $site/doxygen" 'HTML_OUTPUT = reference' 'WARN_AS_ERROR = NO' 'WARNINGS = NO' 'WARN_IF_UNDOCUMENTED = NO'
} | doxygen -
# Every warning is an error: a link to a page, a heading or a file that is not there is one.
$site/tools/bin/sphinx-build --quiet --fail-on-warning --keep-going -j auto -c docs $site/pages $site/html
for page in annotated files; do # what reference.md links to, as HTML
  test -f $site/html/reference/$page.html
done
cp $site/html/README.html $site/html/index.html
echo "site: $(find $site/html -name '*.html' -not -path '*/reference/*' | wc -l) pages, $site/html/index.html"
