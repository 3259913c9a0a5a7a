# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a run on a machine that is lent for minutes: each with a time limit, each written down when it ends."""
import json
import os
import signal
import subprocess
import time

NOTHING = 3


class Late(Exception):
    """A program did not end in its time."""


class Slow(Late):
    """It did not end in the time that a program of many has; the part goes on."""


class Parts:
    """Runs parts one after another until the time is over. A line of JSON per part is added to `path`."""

    def __init__(self, seconds, path=None):
        self.end = time.monotonic() + seconds
        self.path = path
        self.outcomes = {}
        self.limit = 0.0

    def part(self, name, seconds, check):
        """`check` returns True, False, or None where it could not run, and what it found."""
        start = time.monotonic()
        self.limit = start + min(seconds, self.end - start)
        print(f"== {name}", flush=True)
        found = {}
        if self.end - start < 5:
            outcome = "no time left"
        else:
            try:
                good = check(found)
                outcome = "not run" if good is None else "good" if good else "FAILED"
            except Late as late:
                outcome = "LATE"
                found["why"] = str(late)
            except Exception as error:  # pylint: disable=broad-except  # the parts after it still run
                outcome = "FAILED"
                found["why"] = repr(error)
        took = round(time.monotonic() - start, 1)
        print(f"{name}: {outcome} after {took} s", found.get("why", ""), flush=True)
        self.outcomes[name] = outcome
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"part": name, "outcome": outcome, "seconds": took, **found}) + "\n")

    def run(self, words, environment=None, seconds=None):
        """A program's exit code, stdout and stderr. It and its children end with the part's time, or after
        `seconds` of it."""
        left = self.limit - time.monotonic()
        own = seconds is not None and seconds < left
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
                              start_new_session=True) as child:
            try:
                out, err = child.communicate(timeout=max(0.1, seconds if own else left))
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                out, err = child.communicate()
                raise (Slow if own else Late)(f"killed: {' '.join(map(str, words))[-120:]}: {(out + err)[-500:]}") from None
        return child.returncode, out, err

    def exit_code(self):
        """0: all that could run is good. 1: something failed or was late. 3: nothing ran. 4: time was over."""
        said = set(self.outcomes.values())
        if said & {"FAILED", "LATE"}:
            return 1
        return 4 if "no time left" in said else 0 if "good" in said else NOTHING
