# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What a program under the preload prints on stderr when it ends."""
import re


def table(text):
    """The table, and how many products of how many were taken, of all processes: text, [calls, taken]."""
    lines, counts = [], [0, 0]
    for line in text.splitlines():
        head = re.match(r"detgemm preload: process \d+ called for (\d+) products, (\d+)", line)
        if head:
            counts = [counts[0] + int(head.group(1)), counts[1] + int(head.group(2))]
        if head or re.match(r" +(\d+|calls)  ", line):
            lines.append(line)
    return "\n".join(lines), counts
