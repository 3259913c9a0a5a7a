# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A page as blocks, and the two ways it is written: markdown and one self-contained HTML file.

Blocks: ("h1"|"h2"|"h3"|"p"|"note", text), ("list", [text]), ("table", head, rows), ("pre", text),
("svg", name, text), ("contents",) and ("page", name, title, blocks), which is a page of its own in
markdown and folded away in HTML. Text may hold `code`, *emphasis*, **strong** words and [links](to).
"""
import html
import re

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --rule: #e3e3e3; --shade: #f5f5f5;
        --good: #e2f3ea; --bad: #fbe4d3; --dim: #666; --note: #fff6e5; --link: #0b62a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e2e4e8; --paper: #14171c; --rule: #343a42; --shade: #20252c; --good: #12402c;
          --bad: #54290f; --dim: #a4a9b2; --note: #3a2d10; --link: #7cb8ef; }
}
body { font: 16px/1.55 system-ui, 'DejaVu Sans', Arial, sans-serif; color: var(--ink);
       background: var(--paper); max-width: 1040px; margin: 2.5rem auto; padding: 0 1.2rem; }
a { color: var(--link); }
h1 { font-size: 1.9rem; line-height: 1.2; } h2 { margin-top: 2.6rem;
     border-bottom: 1px solid var(--rule); padding-bottom: .3rem; } h3 { margin-top: 1.8rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .86rem; }
th, td { border-bottom: 1px solid var(--rule); padding: .32rem .7rem; text-align: left;
         vertical-align: top; }
th { background: var(--shade); } td:first-child { white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.good { background: var(--good); } td.bad { background: var(--bad); } td.dim { color: var(--dim); }
td.s { white-space: nowrap; }
code, pre { font: .86em 'DejaVu Sans Mono', monospace; background: var(--shade); border-radius: 3px; }
code { padding: .1em .3em; } pre { padding: .8rem; overflow-x: auto; }
.note { background: var(--note); border-left: 4px solid #e69f00; padding: .6rem 1rem; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
summary { cursor: pointer; color: var(--link); }
"""
NUMBER = re.compile(r"^[-+]?[\d.,]+( ?(%|us|TB/s|GB/s|TFLOP/s|GFLOP/s))?$")


def inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*", r"<em>\1</em>", text)


def cell(value):
    words = str(value)
    kind = "n" if NUMBER.match(words) else ""
    if words.startswith("hit"):
        kind = "good"
    elif words.startswith("missed"):
        kind = "bad"
    elif words.endswith(" *"):  # row 0 depends on the batch
        kind = "n bad"
    elif words.startswith("not measured"):
        kind = "dim"
    if len(words) < 22:
        kind = (kind + " s").strip()
    return f'<td class="{kind}">{inline(words)}</td>' if kind else f"<td>{inline(words)}</td>"


def anchors(blocks):
    """[(kind, text, anchor)] of the headings, named as markdown viewers name them."""
    seen, found = {}, []
    for block in blocks:
        if block[0] in ("h1", "h2", "h3"):
            name = re.sub(r"[^\w\- ]", "", block[1].lower()).replace(" ", "-")
            seen[name] = seen.get(name, -1) + 1
            found.append((block[0], block[1], f"{name}-{seen[name]}" if seen[name] else name))
    return found


def contents(headings):
    """One line per heading of the second level, with its headings of the third level behind it."""
    lines = []
    for kind, text, anchor in headings:
        if kind == "h2":
            lines.append([f"[{text}](#{anchor})"])
        elif kind == "h3" and lines:
            lines[-1].append(f"[{text}](#{anchor})")
    return [one[0] + (": " + "; ".join(one[1:]) if one[1:] else "") for one in lines]


def html_body(blocks):
    headings = anchors(blocks)
    names = iter(headings)
    out = []
    for block in blocks:
        kind = block[0]
        if kind in ("h1", "h2", "h3"):
            out.append(f'<{kind} id="{next(names)[2]}">{inline(block[1])}</{kind}>')
        elif kind == "p":
            out.append(f"<p>{inline(block[1])}</p>")
        elif kind == "note":
            out.append(f'<p class="note">{inline(block[1])}</p>')
        elif kind in ("list", "contents"):
            lines = block[1] if kind == "list" else contents(headings)
            out.append("<ul>" + "".join(f"<li>{inline(one)}</li>" for one in lines) + "</ul>")
        elif kind == "pre":
            out.append(f"<pre>{html.escape(block[1], quote=False)}</pre>")
        elif kind == "svg":
            out.append(block[2])
        elif kind == "page":
            inner = html_body([one for one in block[3] if one[0] not in ("h1", "h2", "h3")])
            out.append(f"<details><summary>{inline(block[2])}</summary>\n{inner}\n</details>")
        elif kind == "table":
            head = "".join(f"<th>{inline(str(one))}</th>" for one in block[1])
            rows = "\n".join("<tr>" + "".join(cell(one) for one in row) + "</tr>"
                             for row in block[2])
            out.append(f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}'
                       "</tbody></table></div>")
    return "\n".join(out)


def to_html(title, blocks):
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style></head>\n<body>\n"
            f"{html_body(blocks)}\n</body></html>\n")


def to_markdown(blocks):
    """Charts, and pages inside the page, become links to files of their own beside it."""
    headings = anchors(blocks)
    out = []
    for block in blocks:
        kind = block[0]
        if kind in ("h1", "h2", "h3"):
            out.append("#" * int(kind[1]) + " " + block[1])
        elif kind == "p":
            out.append(block[1])
        elif kind == "note":
            out.append("> " + block[1])
        elif kind in ("list", "contents"):
            lines = block[1] if kind == "list" else contents(headings)
            out.append("\n".join("- " + one for one in lines))
        elif kind == "pre":
            out.append("\n".join("    " + line for line in block[1].splitlines()))
        elif kind == "svg":
            out.append(f"![{block[1]}]({block[1]}.svg)")
        elif kind == "page":
            out.append(f"[{block[2]}]({block[1]}.md)")
        elif kind == "table":
            rows = [block[1], ["---"] * len(block[1]), *block[2]]
            out.append("\n".join("| " + " | ".join(str(one).replace("|", "\\|") for one in row)
                                 + " |" for row in rows))
    return "\n\n".join(out) + "\n"


def pages(blocks):
    """Every page inside the page: (name, blocks)."""
    return [(block[1], block[3]) for block in blocks if block[0] == "page"]
