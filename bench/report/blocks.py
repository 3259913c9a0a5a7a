# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A page as blocks, and the two ways it is written: markdown and one self-contained HTML file.

Blocks: ("h1"|"h2"|"h3"|"p"|"note", text), ("list", [text]), ("table", head, rows), ("pre", text),
("svg", name, text). Text may hold `code`, *emphasis* and **strong** words.
"""
import html
import re

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, 'DejaVu Sans', Arial, sans-serif; color: #222; background: #fff;
       max-width: 1040px; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; } h2 { margin-top: 2.6rem; border-bottom: 1px solid #ddd;
     padding-bottom: .3rem; } h3 { margin-top: 1.8rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .86rem; }
th, td { border-bottom: 1px solid #e3e3e3; padding: .32rem .7rem; text-align: left;
         vertical-align: top; }
th { background: #f5f5f5; } td:first-child { white-space: nowrap; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.good { background: #e2f3ea; } td.bad { background: #fbe4d3; } td.dim { color: #777; }
td.s { white-space: nowrap; }
code, pre { font: .86em 'DejaVu Sans Mono', monospace; background: #f5f5f5; border-radius: 3px; }
code { padding: .1em .3em; } pre { padding: .8rem; overflow-x: auto; }
.note { background: #fff6e5; border-left: 4px solid #e69f00; padding: .6rem 1rem; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
"""
NUMBER = re.compile(r"^[-+]?[\d.,]+( ?(%|us|TB/s|GB/s|TFLOP/s|GFLOP/s))?$")


def inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*", r"<em>\1</em>", text)


def cell(value):
    words = str(value)
    kind = "n" if NUMBER.match(words) else ""
    if words.startswith("hit"):
        kind = "good"
    elif words.startswith(("missed", "no:", "no ")) or words == "no":
        kind = "bad"
    elif words in ("yes",):
        kind = "good"
    elif words.startswith("not measured"):
        kind = "dim"
    if len(words) < 22:
        kind = (kind + " s").strip()
    return f'<td class="{kind}">{inline(words)}</td>' if kind else f"<td>{inline(words)}</td>"


def to_html(title, blocks):
    out = []
    for block in blocks:
        kind = block[0]
        if kind in ("h1", "h2", "h3", "p"):
            out.append(f"<{kind}>{inline(block[1])}</{kind}>")
        elif kind == "note":
            out.append(f'<p class="note">{inline(block[1])}</p>')
        elif kind == "list":
            out.append("<ul>" + "".join(f"<li>{inline(one)}</li>" for one in block[1]) + "</ul>")
        elif kind == "pre":
            out.append(f"<pre>{html.escape(block[1], quote=False)}</pre>")
        elif kind == "svg":
            out.append(block[2])
        elif kind == "table":
            head = "".join(f"<th>{inline(str(one))}</th>" for one in block[1])
            rows = "\n".join("<tr>" + "".join(cell(one) for one in row) + "</tr>"
                             for row in block[2])
            out.append(f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}'
                       "</tbody></table></div>")
    body = "\n".join(out)
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}\n"
            "</body></html>\n")


def to_markdown(blocks):
    """Charts become links to files of their own beside the page."""
    out = []
    for block in blocks:
        kind = block[0]
        if kind in ("h1", "h2", "h3"):
            out.append("#" * int(kind[1]) + " " + block[1])
        elif kind == "p":
            out.append(block[1])
        elif kind == "note":
            out.append("> " + block[1])
        elif kind == "list":
            out.append("\n".join("- " + one for one in block[1]))
        elif kind == "pre":
            out.append("\n".join("    " + line for line in block[1].splitlines()))
        elif kind == "svg":
            out.append(f"![{block[1]}]({block[1]}.svg)")
        elif kind == "table":
            rows = [block[1], ["---"] * len(block[1]), *block[2]]
            out.append("\n".join("| " + " | ".join(str(one).replace("|", "\\|") for one in row)
                                 + " |" for row in rows))
    return "\n\n".join(out) + "\n"
