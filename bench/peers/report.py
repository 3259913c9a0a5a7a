# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The options, the bits and the JSON that the programs in this folder have in common."""
import argparse
import json

import torch

import detgemm


def options(doc, **more):
    """A parser with --json, --only and --variants, or those of them that are not given as False."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="where the report is written")
    if more.get("only", True):
        parser.add_argument("--only", default="", help="cases with this text in their name")
    if more.get("variants", True):
        parser.add_argument("--variants", action="store_true", help="time every tile by its name too")
    return parser


def begun(**facts):
    """A report that says on what it was measured."""
    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "detgemm": detgemm.version(), **facts}


def save(report, path):
    """Writes it, if a path was given."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


def differing(x, y):
    """Outputs with other bits, where not both are NaN."""
    integers = torch.int16 if x.element_size() == 2 else torch.int32
    return int(((x.contiguous().view(integers) != y.contiguous().view(integers)) & ~(x.isnan() & y.isnan())).sum())


def microseconds(took):
    return "us " + ", ".join(f"{arm} {us:.1f}" for arm, us in took.items())
