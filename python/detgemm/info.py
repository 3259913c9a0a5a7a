# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What this installation has."""
from detgemm import _library as lib


def version():
    """The version of the library that is loaded, for example "0.1.0"."""
    return lib.text("version")


def info():
    """What is installed here, as a dictionary.

    `backends` maps the name of each backend of this build to "available" or to the sentence that says
    why it cannot run now. `kinds` has the kinds of devices for which the build has a backend at all, and
    `summary` has them in words, for example that a wheel was built without CUDA.
    """
    library = lib.library()
    lib.started()
    backends, kinds = {}, set()
    for backend, kind in lib.backends():
        kinds.add(("host", "cuda", "hip")[kind])
        name = lib.text("backend_name", backend)
        able = library.detgemm_backend_available(backend) == 0
        backends[name] = "available" if able else library.detgemm_last_error().decode()
    summary = ("this build has CUDA kernels" if "cuda" in kinds else
               "this build has no CUDA kernels: it was made without nvcc and computes on the host alone")
    return {"version": version(), "library": str(lib.folder()), "backends": backends,
            "kinds": sorted(kinds), "summary": summary}
