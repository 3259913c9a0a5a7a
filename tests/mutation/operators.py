# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Mutants of C++ source text: one small change each. Text in, text out; no parser.

The sources are formatted by clang-format, so a binary operator has spaces around it and a template's
bracket has none.
"""

import dataclasses
import re

# A binary operator and what takes its place.
SWAPS = {
    ' < ': (' <= ', ' > '), ' <= ': (' < ',), ' > ': (' >= ', ' < '), ' >= ': (' > ',),
    ' == ': (' != ',), ' != ': (' == ',), ' && ': (' || ',), ' || ': (' && ',),
    ' + ': (' - ',), ' - ': (' + ',), ' * ': (' + ',), ' / ': (' * ',), ' % ': (' / ',),
    ' << ': (' >> ',), ' >> ': (' << ',), ' & ': (' | ',), ' | ': (' & ',), ' ^ ': (' | ',),
    ' += ': (' -= ',), ' -= ': (' += ',), ' |= ': (' &= ',), ' &= ': (' |= ',),
}
SWAP = re.compile('|'.join(re.escape(each) for each in sorted(SWAPS, key=len, reverse=True)))
INTEGER = re.compile(r'(?<![\w.])(0x[0-9a-fA-F]+|[0-9]+)(?=[uUlL]*\b)(?![.\w]*[pP.])')
HEX_FLOAT = re.compile(r'(?<![\w.])0x1(?:\.([0-9a-f]+))?p[+-]?\d+')
WORDS = {'true': 'false', 'false': 'true', 'plus_inf': 'minus_inf', 'minus_inf': 'plus_inf'}
WORD = re.compile(r'\b(' + '|'.join(WORDS) + r')\b')
CONDITION = re.compile(r'\b(if|while) \((?!constexpr)')
# A whole statement on a line of its own that is no declaration and gives nothing back.
STATEMENT = re.compile(r'^\s+(?!return|break|continue|using|static|const|constexpr|auto|case|default|'
                       r'goto|throw|typedef|friend|template|requires|struct|class|enum|namespace|'
                       r'else|public|private|delete|extern)[A-Za-z_][\w.\->\[\]+*:()& ]*?'
                       r'(?: [+\-|&*]?= |\()[^;{}]*;\s*$')
DECLARATION = re.compile(r'^\s*(?:[A-Za-z_][\w:<>,*& ]*)\s[*&]?\w+(?: = |\[|\{|;)')


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    line: int      # from 1
    kind: str
    before: str    # the line
    after: str

    def key(self):
        """What names it whatever line it stands on."""
        return f'{self.path} | {self.before.strip()} | {self.after.strip()}'


def blank(text):
    """The same text with comments, strings and characters as spaces."""
    pattern = (r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|'
               r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'")
    return re.sub(pattern, lambda m: re.sub(r'[^\n]', ' ', m.group()), text, flags=re.DOTALL)


def edits(code):
    """(kind, start, end, replacement) for one line of code without comments."""
    for match in SWAP.finditer(code):
        for other in SWAPS[match.group()]:
            yield 'operator', match.start(), match.end(), other
    for match in INTEGER.finditer(code):
        text = match.group(1)
        value = int(text, 0)
        for by in (1, -1):
            if value + by >= 0:
                changed = hex(value + by) if text.startswith('0x') else str(value + by)
                yield 'constant', match.start(1), match.end(1), changed
    for match in HEX_FLOAT.finditer(code):
        if match.group(1):  # one unit in the last digit written
            digits = match.group(1)
            unit = 2 if len(digits) == 6 else 1  # the last digit of an fp32 literal is even
            for by in (unit, -unit):
                other = int(digits, 16) + by
                if 0 <= other < 16 ** len(digits):
                    yield ('constant', match.start(1), match.end(1), f'{other:0{len(digits)}x}')
        else:
            sign = match.end(0)
            yield 'constant', sign, sign, '1'
    for match in WORD.finditer(code):
        yield 'word', match.start(), match.end(), WORDS[match.group()]
    for match in CONDITION.finditer(code):
        depth = 0
        for at in range(match.end() - 1, len(code)):
            depth += {'(': 1, ')': -1}.get(code[at], 0)
            if depth == 0 and ';' not in code[match.end():at]:
                inner = code[match.end():at]
                yield 'negated', match.end(), at, f'!({inner})'
            if depth == 0:
                break
    if STATEMENT.match(code) and not DECLARATION.match(code):
        body = code.strip()
        start = code.index(body)
        yield 'deleted', start, start + len(body), ';'


def joins_text(line, code, start, end):
    """Whether the operator stands beside a string: other operators do not compile there."""
    return ('"' in line[max(0, start - 1):end + 1] or 'std::to_string(' in code or
            'std::string(' in code)


def mutants(path, text):
    """Every mutant of a file."""
    lines = text.split('\n')
    in_macro = False
    for number, (line, code) in enumerate(zip(lines, blank(text).split('\n')), 1):
        directive = in_macro or code.lstrip().startswith('#')
        in_macro = directive and code.rstrip().endswith('\\')
        if directive or 'static_assert' in code or code.lstrip().startswith('template <'):
            continue
        for kind, start, end, other in edits(code):
            if kind == 'operator' and joins_text(line, code, start, end):
                continue
            changed = line[:start] + other + line[end:]
            if changed != line:
                yield Mutant(path, number, kind, line, changed)
