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
    `summary` has in words those for which it has kernels: a wheel that was built without a GPU's compiler says so.
    """
    library = lib.library()
    lib.started()
    backends, kinds, hip = {}, set(), ""
    for backend, kind in lib.backends():
        kinds.add(("host", "cuda", "hip")[kind])
        name = lib.text("backend_name", backend)
        if kind == lib.HIP:
            hip = lib.text("backend_description", backend)
        able = library.detgemm_backend_available(backend) == 0
        backends[name] = "available" if able else library.detgemm_last_error().decode()
    has = ["CUDA kernels"] if "cuda" in kinds else []
    without = "without HIP kernels" in backends.get("hip", "")
    if hip and not without:
        has.append(f"HIP kernels ({hip})")
    lacks = ([] if "cuda" in kinds else ["no CUDA kernels, since it was made without nvcc"])
    if without:
        lacks.append("no HIP kernels, since it was made without a clang that compiles them")
    summary = "this build has " + " and ".join(has + lacks) + ("" if has else ": it computes on the host alone")
    return {"version": version(), "library": str(lib.folder()), "backends": backends,
            "kinds": sorted(kinds), "summary": summary}
