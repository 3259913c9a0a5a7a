#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""archive_records.py FOLDER DATE...: packs the JSON of a date's records into one archive, FOLDER/DATE.tar.xz.

For records whose JSON no other page is drawn from, which are those of tests/results. FOLDER/DATE-NAME.json.xz becomes the
member DATE-NAME.json, and the page beside it names the archive; its sha256 stays true. An archive that exists already keeps
its members. A record whose page no other file of the repository links to goes into the archive with its page. The same
files make the same archive. Exit codes: 0 written, 2 a folder, a date or a page that cannot be used, with a sentence.
"""
import argparse
import hashlib
import io
import lzma
import pathlib
import re
import subprocess
import sys
import tarfile


class Bad(Exception):
    """An argument or a record that is refused; its text is a sentence."""


def members(archive):
    """Name: bytes, of everything that an archive holds."""
    if not archive.exists():
        return {}
    with tarfile.open(archive, "r:xz") as opened:
        return {each.name: opened.extractfile(each).read() for each in opened.getmembers()}


def pack(archive, files):
    """Writes name: bytes as a tar without times, owners or another order than that of the names."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as opened:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    archive.write_bytes(lzma.compress(made.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def linked(page):
    """Whether a file of the repository, other than the page itself, names it."""
    found = subprocess.run(["git", "grep", "--files-with-matches", "--fixed-strings", page.stem, "--", ":/", f":!{page.name}"],
                           cwd=page.parent, capture_output=True, text=True, check=False)
    if found.returncode not in (0, 1):
        raise Bad(f"{page}: git cannot say who links to it: {found.stderr.strip()}")
    return found.returncode == 0


def archived(page, data, archive):
    """The page's text when its JSON is a member of the archive."""
    text = page.read_text(encoding="utf-8")
    if f"`{hashlib.sha256(data).hexdigest()}`" not in text:
        raise Bad(f"{page}: its sha256 is not that of the JSON beside it")
    line = re.compile(rf"(?m)^- \*\*JSON:\*\* \[{re.escape(page.stem)}\.json\.xz\]\([^)]*\)")
    if not line.search(text):
        raise Bad(f"{page}: it has no line that links to its JSON")
    return line.sub(f"- **JSON:** `{page.stem}.json` in [{archive.name}]({archive.name})", text)


def archive_date(folder, date):
    """How many records were packed, and how many of them with their page."""
    archive, packed = folder / f"{date}.tar.xz", sorted(folder.glob(f"{date}-*.json.xz"))
    if not packed:
        raise Bad(f"{folder} has no {date}-*.json.xz")
    files, pages = members(archive), {}
    for file in packed:
        page = file.with_name(file.name.removesuffix(".json.xz") + ".md")
        if not page.exists():
            raise Bad(f"{file}: there is no page beside it")
        data = lzma.decompress(file.read_bytes())
        pages[page] = archived(page, data, archive)
        files[page.stem + ".json"] = data
    alone = {page for page in pages if not linked(page)}
    files.update({page.name: pages[page].encode("utf-8") for page in alone})
    pack(archive, files)
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")
        page.with_name(page.stem + ".json.xz").unlink()
    for page in alone:
        page.unlink()
    return len(packed), len(alone)


def main():
    parser = argparse.ArgumentParser(prog="archive_records.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("dates", nargs="+", metavar="DATE")
    options = parser.parse_args()
    try:
        for date in options.dates:
            if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
                raise Bad(f'DATE is "{date}": it must be like 2026-01-02')
            records, alone = archive_date(options.folder, date)
            print(f"{options.folder / (date + '.tar.xz')}: {records} records, {alone} of them with their page")
    except (Bad, OSError, tarfile.TarError, lzma.LZMAError) as sentence:
        print(f"archive_records.py: {sentence}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
