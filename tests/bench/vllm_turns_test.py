#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""bench/peers/vllm_turns.py: its exit status, and that no engine is left behind. Engines are stand-ins."""
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
import vllm_turns

EQUAL, UNEQUAL, NOTHING = ({"equal": equal, "compared": compared} for equal, compared in ((3, 3), (2, 3), (0, 0)))


class Turns(unittest.TestCase):
    def status(self, cases, stops=None, more=(), **answers):
        """The exit status where an engine's facts, and then its answer to each case, are these; None: it is dead. An exception: it
        cannot be started."""
        class Engine:
            def __init__(self, text, *_):
                if isinstance(answers[text], BaseException):
                    raise answers[text]
                self.name, self.judged, self.left = text, text == "detgemm", list(answers[text])

            def answer(self, _until):
                return self.left.pop(0)

            def ask(self, case, runs, until):
                return [1.0] * runs if self.left == ["times"] else self.answer(until)

            def stop(self, _seconds):
                if stops is not None:
                    stops.append(self.name)

        with mock.patch.object(vllm_turns, "Engine", Engine), mock.patch("signal.signal"), \
                mock.patch.object(sys, "argv", ["vllm_turns.py", "model", "--engines", " ".join(answers), "--cases", cases, *more]), \
                contextlib.redirect_stdout(io.StringIO()), self.assertRaises(SystemExit) as ended:
            vllm_turns.main()
        return ended.exception.code

    def test_compared_cases_alone(self):
        self.assertEqual(self.status("b33", detgemm=[{"a": 1}, EQUAL], stock=[{"a": 1}, EQUAL]), 0)
        self.assertEqual(self.status("b33", detgemm=[{"a": 1}, EQUAL], stock=[{"a": 1}, UNEQUAL]), 0)
        self.assertEqual(self.status("b33", detgemm=[{"a": 1}, UNEQUAL], stock=[{"a": 1}, EQUAL]), 1)
        self.assertEqual(self.status("b33", detgemm=[{"a": 1}, NOTHING]), 1)
        self.assertEqual(self.status("b33", detgemm=[{"a": 1}, EQUAL], stock=[{"a": 1}, None]), 1)
        self.assertEqual(self.status("b33,b100", detgemm=[{"a": 1}, UNEQUAL, EQUAL]), 1)
        self.assertEqual(self.status("b33,b100", detgemm=[{"a": 1}, None]), 1)

    def test_profiled_and_timed_cases(self):
        self.assertEqual(self.status("p1", detgemm=[{"a": 1}, {}]), 0)
        self.assertEqual(self.status("h1", detgemm=[{"a": 1}, None]), 1)
        self.assertEqual(self.status("1,7", detgemm=[{"a": 1}, "times"]), 0)
        self.assertEqual(self.status("1", detgemm=[{"a": 1}, None]), 1)
        self.assertEqual(self.status("1,7", detgemm=[{"a": 1}, [1.0], [1.0] * 3, [1.0] * 3, None]), 1)  # dies in the second case

    def test_the_last_seconds_are_reserved(self):
        with mock.patch.object(vllm_turns, "timed", side_effect=AssertionError):
            self.assertEqual(self.status("1,p1", detgemm=[{"a": 1}, {}], more=["--seconds", "5", "--reserve", "9"]), 1)

    def test_threads_stay_on_chosen_processors(self):
        mine = os.sched_getaffinity(0)
        try:
            vllm_turns.stay([min(mine)])
            self.assertEqual({frozenset(os.sched_getaffinity(int(each))) for each in os.listdir("/proc/self/task")}, {frozenset([min(mine)])})
        finally:
            vllm_turns.stay(mine)
        vllm_turns.stay([])
        self.assertEqual(os.sched_getaffinity(0), mine)

    def test_an_engine_that_did_not_start(self):
        self.assertEqual(self.status("1", detgemm=[{"a": 1}, "times"], stock=[None]), 1)
        self.assertEqual(self.status("1", detgemm=[None]), 1)

    def test_engines_are_stopped_where_the_next_cannot_be_started(self):
        for error in (SystemExit(1), KeyboardInterrupt()):
            stops = []
            with contextlib.suppress(KeyboardInterrupt, AssertionError):
                self.status("1", stops, detgemm=[{"a": 1}], vllm=[{"a": 1}], stock=error)
            self.assertEqual(stops, ["vllm", "detgemm"])

    def test_stop_waits_for_the_end(self):
        engine = vllm_turns.Engine.__new__(vllm_turns.Engine)
        engine.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        engine.stop(0)
        self.assertEqual(engine.process.returncode, -signal.SIGKILL)
        with self.assertRaises(ProcessLookupError):
            os.kill(engine.process.pid, 0)
        engine.stop(0)  # again: it has ended


if __name__ == "__main__":
    unittest.main()
