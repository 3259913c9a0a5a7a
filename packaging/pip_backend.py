# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What pip calls to build the package: scikit-build-core, after a few lines that say what is going to happen.

Compiling takes minutes, of which pip shows nothing unless it is called with -v. So the lines go to the terminal
itself, before anything is downloaded: pyproject.toml requires nothing, and scikit-build-core is asked for here.
"""
import os
import re
import shutil
import subprocess

NEEDED = ["scikit-build-core>=0.11", "ninja>=1.11"]
CMAKE = (3, 25)
# Minutes of one idle core: the host's half, and the CUDA kernels.
HOST, CUDA = 8, 50
NO = ("OFF", "0", "NO", "FALSE", "N", "IGNORE", "")
HIP_COMPILERS = ("clang++-19", "amdclang++", "clang++-20", "clang++-21", "clang++-22", "clang++-18", "clang++-17", "clang++")
NVCC, USUAL_NVCC = (12, 8), "/usr/local/cuda/bin/nvcc"


def __getattr__(hook):
    """Every other hook is scikit-build-core's, which is there once pip has asked for requirements."""
    if hook.startswith("__"):
        raise AttributeError(hook)
    from scikit_build_core import build
    return getattr(build, hook)


def version(*command):
    """The first two numbers of what a program says of its version, or none where it does not run."""
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"(?:version|release) (\d+)\.(\d+)", said)
    return found and (int(found[1]), int(found[2]))


def nvcc():
    """Where CMake finds nvcc, and its version."""
    roots = [os.environ.get("CUDAToolkit_ROOT"), os.environ.get("CUDA_PATH")]
    places = [os.environ.get("CUDACXX"), *(f"{root}/bin/nvcc" for root in roots if root), shutil.which("nvcc"), USUAL_NVCC]
    path = next((place for place in places if place and os.path.exists(place)), None)
    return (path, version(path, "--version")) if path else (None, None)


def minutes(work):
    cores = os.cpu_count() or 1
    return f"about {max(1, round(work / cores))} min on {cores} idle core{'s' * (cores > 1)}"


def value(settings, name):
    """What a CMake option is set to. pip hands over a text, or a list of texts where a setting was named twice; words of
    CMake's own, which go after them, may be a setting too, or the environment's."""
    def listed(key):
        given = settings.get(key, [])
        return [str(each) for each in (given if isinstance(given, list) else [given])]
    words = " ".join([*listed("cmake.args"), os.environ.get("CMAKE_ARGS", "")])
    given = [*listed(f"cmake.define.{name}"), *re.findall(rf"-D\s*{name}(?::\w+)?=([^\s;]*)", words)]
    return given[-1].upper() if given else "AUTO"


def plan(settings):
    """What this build compiles, why, how long it takes, and the option that changes it."""
    asked = value(settings, "DETGEMM_ENABLE_CUDA")
    path, found = nvcc()
    option = "--config-settings=cmake.define.DETGEMM_ENABLE_CUDA"
    lacks = f"{path} is older than CUDA 12.8 or does not run" if path else \
        "there is no nvcc of CUDA 12.8 or newer here (PATH, CUDACXX, /usr/local/cuda)"
    if asked in NO:
        what, work = "the host's backend alone, as DETGEMM_ENABLE_CUDA asks", HOST
    elif path and found and found >= NVCC:
        what, work = (f"the host's backend, and the CUDA kernels with {path} ({found[0]}.{found[1]}); the host alone "
                      f"takes {minutes(HOST)}: {option}=OFF"), HOST + CUDA
    elif asked != "AUTO":
        return [f"detgemm: compiles nothing: DETGEMM_ENABLE_CUDA is {asked}, and {lacks}. CMake will refuse this; "
                f"{option}=OFF compiles the host's backend alone, in {minutes(HOST)}."]
    else:
        what, work = f"the host's backend alone: {lacks}", HOST
    lines = [f"detgemm: compiles {what}."]
    clang = next(filter(None, map(shutil.which, HIP_COMPILERS)), None)
    if clang and value(settings, "DETGEMM_ENABLE_HIP") not in NO:
        lines.append(f"detgemm: and the AMD kernels with {clang}, minutes more: --config-settings=cmake.define.DETGEMM_ENABLE_HIP=OFF leaves them out.")
    return [*lines, f"detgemm: this takes {minutes(work)}. Options: docs/python.md, Installing."]


def say(lines):
    """To the terminal where there is one, and to the build's own output, which pip shows with -v."""
    print(*lines, sep="\n", flush=True)
    try:
        with open("/dev/tty", "w", encoding="utf-8") as terminal:
            terminal.write("".join(f"\r\033[K{line}\n" for line in lines))
    except OSError:
        pass


def get_requires_for_build_wheel(config_settings=None):
    say(plan(config_settings or {}))
    found = version("cmake", "--version")
    return NEEDED + ([] if found and found >= CMAKE else [f"cmake>={CMAKE[0]}.{CMAKE[1]}"])


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config_settings=None):
    del config_settings
    return NEEDED[:1]

