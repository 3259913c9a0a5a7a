# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests on the emulated MI300X share. run.py says where the emulator is; without it nothing here is collected."""
import os

import pytest

collect_ignore_glob = [] if "DETGEMM_ROCM_RUNTIME" in os.environ else ["*"]


@pytest.fixture(scope="session")
def rocm():
    import fake_rocm
    return fake_rocm.Rocm()


@pytest.fixture
def on_cpu(rocm):
    """PyTorch's own operators, on the CPU; detgemm's on the device. Lists the latter in `seen`."""
    import fake_rocm
    with fake_rocm.OnCpu(rocm) as mode:
        yield mode
