#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Builds small projects against detgemm the ways users do; one case per call.

consumers.py --source DIR --build DIR --cmake CMAKE CASE [static|shared]
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys


class Failure(Exception):
    pass


def run(*command, fails=False, env=None, cwd=None):
    """The command's output; an unexpected exit status is a failure."""
    command = [str(word) for word in command]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd,
                          env={**os.environ, **(env or {})}, check=False)
    if (done.returncode != 0) != fails:
        raise Failure(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(text, pattern):
    if not re.search(pattern, " ".join(text.split())):
        raise Failure(f"expected /{pattern}/ in:\n{text}")


class Workbench:
    """Where things are: the build under test, and a folder of our own below it."""

    def __init__(self, arguments):
        self.source = pathlib.Path(arguments.source).resolve()
        self.build = pathlib.Path(arguments.build).resolve()
        self.cmake_command = arguments.cmake
        self.case = arguments.case
        self.flavour = arguments.flavour
        self.work = self.build / "consumers"
        cache = (self.build / "CMakeCache.txt").read_text()
        self.cache = dict(re.findall(r"^([\w-]+):\w+=(.*)$", cache, re.M))
        os.environ.pop("Kokkos_ROOT", None)  # what a user has not set either
        self.version = re.search(r'VERSION_STRING "(.*)"', self.header("version.hpp")).group(1)

    def header(self, name):
        return (self.source / "core/include/detgemm" / name).read_text()

    @property
    def prefix(self):
        return self.work / f"prefix-{self.flavour}"

    def built_shared(self):
        return self.cache.get("BUILD_SHARED_LIBS", "").upper() in ("ON", "1", "TRUE", "YES")

    def has_reference(self):
        return any(self.prefix.glob("lib*/cmake/detgemm/detgemm-reference-targets.cmake"))

    def bundled(self):
        """Whether the installation carries the Kokkos of its static library."""
        return any(self.prefix.glob("lib*/detgemm/libkokkos*"))

    def beside(self, name):
        """A build folder. Beside the one under test where that is a preset's: the sources then have the same
        relative paths, by which the compiler's cache knows them."""
        is_presets = self.build.parent == self.source / "build"
        return self.build.with_name(f"{self.build.name}-{name}") if is_presets else self.work / f"build-{name}"

    def toolchain(self):
        """What a fresh configure must share with the build under test."""
        names = ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_CXX_COMPILER_LAUNCHER",
                 "CMAKE_PREFIX_PATH", "CMAKE_MAKE_PROGRAM", "Kokkos_ROOT", "Kokkos_DIR",
                 "FETCHCONTENT_SOURCE_DIR_KOKKOS", "DETGEMM_ENABLE_KOKKOS",
                 "DETGEMM_ENABLE_CUDA", "DETGEMM_ENABLE_HIP")
        return [f"-D{name}={self.cache[name]}" for name in names
                if self.cache.get(name) and "NOTFOUND" not in self.cache[name]]

    def configure(self, project, name, *options, fails=False):
        tree = self.work / name
        shutil.rmtree(tree, ignore_errors=True)
        return run(self.cmake_command, "-S", project, "-B", tree, "-G",
                   self.cache["CMAKE_GENERATOR"], *options, fails=fails)

    def make(self, name):
        return run(self.cmake_command, "--build", self.work / name, "--parallel", "2")

    def consume(self, name, prefix, *options, source="whole.cpp", target="detgemm::detgemm"):
        """Configures, builds and runs the project in package/; gives what configuring printed."""
        found = self.configure(self.source / "tests/consumers/package", name, *self.outside(prefix),
                               f"-DCONSUMER_SOURCE={source}", f"-DCONSUMER_TARGET={target}",
                               *options)
        self.make(name)
        quiet = {"OMP_PROC_BIND": "false"}  # else some releases of Kokkos print advice
        expect(run(self.work / name / "consumer", env=quiet), "^" + re.escape(self.version))
        return found

    def outside(self, prefix):
        """Options of a user who knows where detgemm is, and nothing of any Kokkos."""
        options = [o for o in self.toolchain() if re.match("-D(CMAKE_C|CMAKE_MAKE)", o)]
        return [*options, f"-DCMAKE_PREFIX_PATH={prefix}"]

    def environment(self, prefix):
        """The variables that docs/first-program.md sets for pkg-config and for shared libraries."""
        lib = next(prefix.glob("lib*/pkgconfig")).parent
        return {"PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)}


FIRST_PROGRAM = "docs/first-program.md"


def page_commands(bench, program):
    """The page's command lines of that program, as words."""
    lines = re.findall(rf"^ {{4}}({program} [^\n]*)", (bench.source / FIRST_PROGRAM).read_text(), re.M)
    if not lines:
        raise Failure(f"{FIRST_PROGRAM} has no command line of {program}")
    return [shlex.split(line, comments=True) for line in lines]


def prepare(bench):
    """Installs one flavour: from the build under test if it is of that kind, else from its own."""
    shutil.rmtree(bench.prefix, ignore_errors=True)
    shared = bench.flavour == "shared"
    tree = bench.build
    # As many sources at a time as the build under test, so that the compiler's cache has them.
    together = "-DCMAKE_UNITY_BUILD=" + bench.cache.get("CMAKE_UNITY_BUILD", "OFF")
    if shared and not bench.built_shared():  # as docs/first-program.md says
        tree = bench.beside("shared")
        shutil.rmtree(tree, ignore_errors=True)
        for words in page_commands(bench, "cmake"):
            words = [word.replace("build/install", str(tree)).replace("$HOME/.local", str(bench.prefix))
                     for word in words[1:]]
            if "--preset" in words:  # the command and the examples of this build are tested already
                words += [*bench.toolchain(), "-DCMAKE_BUILD_TYPE=" + bench.cache.get("CMAKE_BUILD_TYPE", ""),
                          "-DDETGEMM_BUILD_CLI=OFF", "-DDETGEMM_BUILD_EXAMPLES=OFF", together]
            run(bench.cmake_command, *words, cwd=bench.source)
    elif shared != bench.built_shared():
        tree = bench.work / f"build-{bench.flavour}"
        bench.configure(bench.source, tree.name, *bench.toolchain(), together,
                        f"-DBUILD_SHARED_LIBS={'ON' if shared else 'OFF'}",
                        "-DCMAKE_BUILD_TYPE=" + bench.cache.get("CMAKE_BUILD_TYPE", ""),
                        "-DDETGEMM_BUILD_TESTS=OFF", "-DDETGEMM_BUILD_BENCH=OFF",
                        "-DDETGEMM_BUILD_EXAMPLES=OFF", "-DDETGEMM_BUILD_CLI=OFF")
        bench.make(tree.name)
    if not bench.prefix.exists():
        run(bench.cmake_command, "--install", tree, "--prefix", bench.prefix)
    wanted = ["doc/detgemm/LICENSE", "doc/detgemm/README.md", "doc/detgemm/examples/c/quickstart.c"]
    command = bench.prefix / "bin/detgemm"
    if command.exists():
        expect(run(command, "--version"), re.escape(bench.version))
        wanted += ["man/man1/detgemm.1", "bash-completion/completions/detgemm",
                   "zsh/site-functions/_detgemm", "fish/vendor_completions.d/detgemm.fish"]
    missing = [name for name in wanted if not (bench.prefix / "share" / name).exists()]
    if missing:
        raise Failure(f"not installed below share/: {missing}")


def package(bench):
    """find_package with a version and no component: everything; a wrong version is refused."""
    found = bench.consume(f"package-{bench.flavour}", bench.prefix,
                          f"-DASK_VERSION={bench.version}")
    if bench.flavour == "shared":
        expect(found, "Kokkos was not needed")
    expect(bench.configure(bench.source / "tests/consumers/package", f"version-{bench.flavour}",
                           *bench.outside(bench.prefix), "-DASK_VERSION=99.0", fails=True),
           f"version: {re.escape(bench.version)}")
    # Before 1.0 the second number is the one that breaks programs.
    major, minor, _ = bench.version.split(".")
    if major == "0" and int(minor) > 0:
        expect(bench.configure(bench.source / "tests/consumers/package", f"version-{bench.flavour}",
                               *bench.outside(bench.prefix), f"-DASK_VERSION={major}.{int(minor) - 1}",
                               fails=True), f"version: {re.escape(bench.version)}")


def core_alone(bench):
    """Component core needs neither Kokkos nor any other component."""
    found = bench.consume(f"core-{bench.flavour}", bench.prefix, "-DASK_COMPONENTS=core",
                          "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON", source="core.cpp",
                          target="detgemm::core")
    expect(found, "Kokkos was not needed")


def components(bench):
    """A component that is not there is named; an optional one only goes missing."""
    project = bench.source / "tests/consumers/package"
    outside = bench.outside(bench.prefix)
    expect(bench.configure(project, f"no-component-{bench.flavour}", *outside, "-DASK_COMPONENTS=core;vulkan",
                           fails=True),
           'component "vulkan" is not part of this installation of detgemm, which has core')
    # The sentence lists what may be asked for, all of it.
    folder = next(bench.prefix.glob("lib*/cmake/detgemm"))
    there = {path.name.split("-")[1] for path in folder.glob("detgemm-*-targets.cmake")}
    said = bench.configure(project, f"no-component-{bench.flavour}", *outside, "-DASK_COMPONENTS=vulkan", fails=True)
    listed = re.search(r"of detgemm, which has ([\w, ]+)\.", " ".join(said.split())).group(1).split(", ")
    if sorted(listed) != sorted(there):
        raise Failure(f"the sentence lists {listed}, and the installation has {sorted(there)}:\n{said}")
    bench.consume(f"optional-{bench.flavour}", bench.prefix, "-DASK_COMPONENTS=core",
                  "-DASK_OPTIONAL=vulkan", source="core.cpp", target="detgemm::core")
    if bench.has_reference():
        bench.consume(f"reference-{bench.flavour}", bench.prefix, "-DASK_COMPONENTS=reference",
                      source="core.cpp", target="detgemm::reference")
    if bench.has_reference() and bench.flavour == "static":
        found = bench.configure(project, f"no-kokkos-{bench.flavour}", *outside, "-DASK_COMPONENTS=reference",
                                "-DCONSUMER_SOURCE=core.cpp", "-DCONSUMER_TARGET=detgemm::reference",
                                "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON", fails=not bench.bundled())
        expect(found, "Kokkos was not needed" if bench.bundled()
               else 'component "reference" of this static detgemm needs the Kokkos')
    whole = bench.configure(project, f"whole-{bench.flavour}", *outside, "-DASK_COMPONENTS=detgemm",
                            "-DCONSUMER_SOURCE=whole.cpp", "-DCONSUMER_TARGET=detgemm::detgemm")
    expect(whole, "Generating done")


def warnings(bench):
    """Designated initialisers of the public structs may leave fields out: no warning that a project may ask for."""
    bench.consume(f"warnings-{bench.flavour}", bench.prefix, "-DCONSUMER_OPTIONS=-Wall;-Wextra;-Werror",
                  source="designated.cpp")


def mpi_languages(bench):
    """The component mpi serves a project in C++ alone as one with C, and refuses where no MPI is found."""
    if not any(bench.prefix.glob("lib*/cmake/detgemm/detgemm-mpi-targets.cmake")):
        raise Failure("this installation has no component mpi")
    for name, languages in (("cxx", "CXX"), ("both", "C;CXX")):
        bench.consume(f"mpi-{name}-{bench.flavour}", bench.prefix, "-DASK_COMPONENTS=mpi", f"-DCONSUMER_LANGUAGES={languages}",
                      source="mpi.cpp", target="detgemm::mpi")
    expect(bench.configure(bench.source / "tests/consumers/package", f"mpi-none-{bench.flavour}", *bench.outside(bench.prefix),
                           "-DASK_COMPONENTS=mpi", "-DCONSUMER_LANGUAGES=CXX", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON", fails=True),
           'component "mpi" of detgemm needs an MPI for C or C.., which was not found; this project enables the languages CXX')


def other_kokkos(bench):
    """A program holds one Kokkos: a static detgemm refuses another than its own, found before or after."""
    project = bench.source / "tests/consumers/package"
    for when in ("BEFORE", "AFTER"):
        expect(bench.configure(project, "other-kokkos", *bench.outside(bench.prefix),
                               f"-DASK_KOKKOS={when}", "-DCONSUMER_SOURCE=whole.cpp",
                               "-DCONSUMER_TARGET=detgemm::detgemm",
                               f"-DKokkos_DIR={bench.source / 'tests/consumers/other_kokkos'}", fails=True),
               r"this static detgemm was built with Kokkos \S+ \(\S+\), and this project has found Kokkos "
               r"3\.99\.99 \(SERIAL\) in \S+other_kokkos: a program can hold one Kokkos")


def kokkos_views(bench):
    """An application of Kokkos gives detgemm its Views, of every layout, through detgemm/kokkos.hpp."""
    where = [f"-D{name}={bench.cache[name]}" for name in ("Kokkos_ROOT", "Kokkos_DIR")
             if "NOTFOUND" not in bench.cache.get(name, "NOTFOUND")]
    if not where:
        raise Failure("this build's Kokkos is no package that an application could find")
    bench.consume("views", bench.prefix, "-DASK_KOKKOS=BEFORE", "-DCMAKE_CXX_EXTENSIONS=OFF", *where,
                  source="views.cpp")


def dlpack(bench):
    """Borrowed DLPack tensors, through detgemm/dlpack.hpp."""
    bench.consume("dlpack", bench.prefix, source="dlpack.cpp")


def c_alone(bench):
    """A project in C alone, by CMake and by a compiler's command line with nothing but -ldetgemm's flags."""
    source = bench.source / "examples/c/quickstart.c"
    bench.configure(bench.source / "tests/consumers/c_alone", f"c-alone-{bench.flavour}",
                    *bench.outside(bench.prefix), f"-DCONSUMER_SOURCE={source}")
    bench.make(f"c-alone-{bench.flavour}")
    env = {**bench.environment(bench.prefix), "OMP_PROC_BIND": "false"}
    expect(run(bench.work / f"c-alone-{bench.flavour}" / "consumer", env=env), "row 0 has the same bits")
    program = bench.work / f"c_plain_{bench.flavour}"
    flags = run("pkg-config", "--cflags", "--libs", "detgemm", env=env).split()
    if bench.flavour == "shared":
        flags = ["-I", bench.prefix / "include", "-L", env["LD_LIBRARY_PATH"], "-ldetgemm"]
    run(bench.cache["CMAKE_C_COMPILER"], "-std=c99", source, *flags, "-o", program, env=env)
    expect(run(program, env=env), "row 0 has the same bits")


def choose_backend(bench):
    """The example of choosing at build time takes every spelling, and fails early without the backend."""
    project = next(bench.prefix.glob("share/doc/*/examples/choose_backend"))
    has_cuda, has_hip = (any(bench.prefix.glob(f"lib*/cmake/detgemm/detgemm-{vendor}-targets.cmake"))
                         for vendor in ("cuda", "hip"))
    tree = bench.work / f"choose-{bench.flavour}"
    shutil.rmtree(tree, ignore_errors=True)
    options = [project, "-B", tree, "-G", bench.cache["CMAKE_GENERATOR"], *bench.outside(bench.prefix)]
    for word in ("OFF", "0", "no", "False"):
        run(bench.cmake_command, "-S", *options, f"-DDETGEMM_ENABLE_CUDA={word}")
    bench.make(tree.name)
    expect(run(tree / "choose_backend", env={"OMP_PROC_BIND": "false"}), "reference: digest of D is")
    for vendor, has in (("cuda", has_cuda), ("hip", has_hip)):
        # CMake keeps a switch from one call to the next, so each names both.
        other = {"cuda": "HIP", "hip": "CUDA"}[vendor]
        for word in ("ON", "1", "on", "TRUE", "true", "yes", "Y", "2"):
            said = run(bench.cmake_command, "-S", *options, f"-DDETGEMM_ENABLE_{vendor.upper()}={word}",
                       f"-DDETGEMM_ENABLE_{other}=OFF", fails=not has)
            expect(said, "Generating done" if has else
                   f'component "{vendor}" is not part of this installation of detgemm, which has core')
    expect(run(bench.cmake_command, "-S", *options, "-DDETGEMM_ENABLE_CUDA=ON", "-DDETGEMM_ENABLE_HIP=ON", fails=True),
           "DETGEMM_ENABLE_CUDA and DETGEMM_ENABLE_HIP are both ON: this program uses one backend")


def uninstall(bench):
    """The target of that name leaves nothing behind."""
    prefix = bench.work / "uninstalled"
    shutil.rmtree(prefix, ignore_errors=True)
    run(bench.cmake_command, "--install", bench.build, "--prefix", prefix)
    strange = prefix / "include/detgemm/of_somebody_else.h"
    strange.write_text("")
    run(bench.cmake_command, "--build", bench.build, "--target", "uninstall")
    left = [path for path in prefix.rglob("*") if not path.is_dir()]
    folders = [path for path in prefix.rglob("detgemm") if path.is_dir() and path != strange.parent]
    if left != [strange] or folders:
        raise Failure(f"left after uninstalling: {left + folders}")
    expect(run(bench.cmake_command, "--build", bench.build, "--target", "uninstall", fails=True),
           "nothing was installed from this build folder")


def debian_package(bench):
    """The .deb that cpack makes, unpacked somewhere, is a prefix like any other."""
    place = bench.work / "deb"
    shutil.rmtree(place, ignore_errors=True)
    cpack = pathlib.Path(bench.cmake_command).with_name("cpack")
    run(cpack, "--config", bench.build / "CPackConfig.cmake", "-G", "DEB", "-B", place)
    package = next(place.glob("*.deb"))
    run("dpkg-deb", "-x", package, place / "root")
    said = run("dpkg-deb", "-I", package)
    expect(said, rf"Package: detgemm .*Version: {re.escape(bench.version)}")
    expect(said, r"Depends: .*libstdc\+\+6")  # asked of the binaries, which takes dpkg-dev and file
    bench.consume("deb-consumer", place / "root/usr")


def pkgconfig_in(bench, prefix):
    env = bench.environment(prefix)
    if run("pkg-config", "--modversion", "detgemm", env=env).strip() != bench.version:
        raise Failure("detgemm.pc has another version than the library")
    flags = run("pkg-config", "--cflags", "--libs", "detgemm", env=env).split()
    program = bench.work / f"pkgconfig-{bench.flavour}"
    run(bench.cache["CMAKE_CXX_COMPILER"], "-std=c++20",
        bench.source / "tests/consumers/package/whole.cpp", "-o", program, *flags)
    expect(run(program, env=env), "^" + re.escape(bench.version))


def pkgconfig(bench):
    """detgemm.pc alone is enough to compile and link."""
    pkgconfig_in(bench, bench.prefix)


def compiled(bench, place, name, program):
    """What a program prints that is compiled as docs/first-program.md says, with warnings as errors."""
    command = re.search(r"^ {4}c\+\+ (.*) first\.cpp \$\(pkg-config --cflags --libs detgemm\) -o first\b",
                        (bench.source / FIRST_PROGRAM).read_text(), re.M)
    if not command:
        raise Failure(f"{FIRST_PROGRAM} does not say how to compile first.cpp")
    if not bench.has_reference():
        raise Failure("the program requires the reference, which this build lacks")
    env = bench.environment(bench.prefix)
    flags = run("pkg-config", "--cflags", "--libs", "detgemm", env=env).split()
    place.mkdir(exist_ok=True)
    source = place / f"{name}.cpp"
    source.write_text(program)
    run(bench.cache["CMAKE_CXX_COMPILER"], *command.group(1).split(), "-Wall", "-Wextra", "-Werror",
        source, *flags, "-o", source.with_suffix(""))
    return run(source.with_suffix(""), env={**env, "OMP_PROC_BIND": "false"})


def first_program(bench):
    """The program of docs/first-program.md prints what the page shows, and the page's commands run."""
    programs = re.findall(r"```cpp\n(.*?)```.*?```text\n(.*?)```", (bench.source / FIRST_PROGRAM).read_text(), re.S)
    if not programs:
        raise Failure(f"{FIRST_PROGRAM} has no C++ block with a block of its output")
    for program, printed in programs:
        got = compiled(bench, bench.work / f"first-{bench.flavour}", "first", program)
        if got != printed:
            raise Failure(f"{FIRST_PROGRAM} shows\n{printed}and its program prints\n{got}")
    command = bench.prefix / "bin/detgemm"
    if not command.exists():
        return
    for words in page_commands(bench, "detgemm"):
        if words[1] not in ("conform", "bench"):  # these take long and have tests of their own
            run(command, *words[1:], cwd=bench.source,
                env={**bench.environment(bench.prefix), "OMP_PROC_BIND": "false"})


# README's lines of C++ stand in a function of a program that has the operands.
AROUND_README = """#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
{includes}
int main() {{
  const std::int64_t m = 5, n = 16, k = 64;
  std::vector<std::uint16_t> of_a(m * k, 0x3f80), of_b(k * n, 0x4000);
  std::vector<float> of_d(m * n);
  const std::uint16_t *a = of_a.data(), *b = of_b.data();
  float* d = of_d.data();
{lines}
  if (!status) return std::puts(status.message().c_str()), 1;
  std::printf("%g\\n", static_cast<double>(of_d.back()));
}}
"""


def readme(bench):
    """README's lines of C++ compile and multiply: 64 products of 1 and 2."""
    blocks = re.findall(r"```cpp\n(.*?)```", (bench.source / "README.md").read_text(), re.S)
    if len(blocks) != 1:
        raise Failure(f"README.md has {len(blocks)} blocks of C++, not one")
    lines = blocks[0].splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    program = AROUND_README.format(includes="\n".join(includes),
                                   lines="\n".join(line for line in lines if line not in includes))
    got = compiled(bench, bench.work / f"readme-{bench.flavour}", "readme", program)
    if got != "128\n":
        raise Failure(f"README's lines of C++ give {got}")


def relocated(bench):
    """A tree that was moved after its installation works as before; nothing points back."""
    moved = bench.work / f"moved-{bench.flavour}"
    shutil.rmtree(moved, ignore_errors=True)
    shutil.copytree(bench.prefix, moved, symlinks=True)
    for path in [*moved.glob("lib*/cmake/detgemm/*"), *moved.glob("lib*/pkgconfig/detgemm.pc")]:
        text = path.read_text()
        for place in (bench.source, bench.build, bench.cache.get("Kokkos_ROOT") or bench.source):
            if str(place) in text and (bench.bundled() or bench.flavour == "shared"):
                raise Failure(f"{path} names {place}")
    hidden = bench.prefix.with_name(bench.prefix.name + "-hidden")
    bench.prefix.rename(hidden)
    try:
        bench.consume(f"relocated-{bench.flavour}", moved)
        pkgconfig_in(bench, moved)
    finally:
        hidden.rename(bench.prefix)


def c_symbols(bench):
    """A C99 program that refers to every function of the C headers compiles and links."""
    functions = []
    for header, least in (("detgemm.h", 20), ("detgemm_grouped.h", 10), ("detgemm_log_prob.h", 15), ("detgemm_tuning.h", 5)):
        found = sorted(set(re.findall(r"^DETGEMM_API[^;]*?(detgemm_\w+)\(", bench.header(header), re.M)))
        if len(found) < least:
            raise Failure(f"only {len(found)} functions found in {header}")
        functions += found
    lines = ["#include <detgemm/detgemm_log_prob.h>", "#include <detgemm/detgemm_tuning.h>", "#include <stdio.h>", "typedef void (*function)(void);",
             "int main(void) {", "  const function all[] = {",
             *(f"      (function){name}," for name in functions), "  };", "  size_t i;",
             "  for (i = 0; i < sizeof all / sizeof *all; ++i) if (!all[i]) return 1;",
             "  puts(detgemm_version());", "  return 0;", "}", ""]
    source = bench.work / f"every_function_{bench.flavour}.c"
    source.write_text("\n".join(lines))
    bench.consume(f"c-{bench.flavour}", bench.prefix, "-DCMAKE_C_STANDARD=99",
                  "-DCMAKE_C_EXTENSIONS=OFF", source=source)


def symbols(bench):
    """Shared: only detgemm's names are exported. Static: no object prints, aborts or asks the
    environment by itself."""
    libraries = sorted(bench.prefix.glob("lib*/libdetgemm*"))
    libraries = [path for path in libraries if not path.is_symlink()]
    if len(libraries) < 2:
        raise Failure(f"libraries found: {libraries}")
    wrong = []
    exported = 0
    for library in libraries:
        if bench.flavour == "shared":
            for line in run("nm", "-D", "--defined-only", library).splitlines():
                name = line.split()[-1]
                exported += 1
                if not re.match(r"(_ZN7detgemm|_ZNK7detgemm|_ZT[ISV]N7detgemm|detgemm_)", name):
                    wrong.append(f"{library.name} exports {name}")
        else:
            for line in run("nm", "--undefined-only", library).splitlines():
                name = line.split()[-1] if line.strip() else ""
                exported += 1
                # The harness runs candidates in processes of their own: it ends and kills those alone.
                if "conformance" in library.name and name in ("_exit", "kill", "write"):
                    continue
                if re.match(r"(v?f?printf|puts|putchar|f?write|abort|_?exit|_Exit|(secure_)?getenv"
                            r"|raise|kill|system|__assert_fail|_ZSt4c(out|err|log))$", name):
                    wrong.append(f"{library.name} refers to {name}")
    if wrong or exported < 50:
        raise Failure("\n".join(wrong) or f"only {exported} symbols seen")


def headers(bench):
    """Every public header compiles alone: C++ ones as C++20, those for C as C99 and as C++20."""
    include = bench.source / "core/include"
    found = sorted(include.glob("detgemm/*.h*")) + [bench.build / "include/detgemm/config.hpp"]
    if len(found) < 10:
        raise Failure(f"only {len(found)} headers found")
    cc, cxx = bench.cache["CMAKE_C_COMPILER"], bench.cache["CMAKE_CXX_COMPILER"]
    warnings = ["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", include,
                "-I", bench.build / "include"]
    bench.work.mkdir(exist_ok=True)
    for header in found:
        text = f'#include "detgemm/{header.name}"\n'
        if header.stem == "config":
            text += "int built = DETGEMM_HAS_REFERENCE + DETGEMM_HAS_CUDA + DETGEMM_HAS_HIP;\n"
        # These need headers of others; the case kokkos_views and tests/cluster compile them.
        if header.stem in ("kokkos", "mpi", "detgemm_mpi"):
            continue
        alone = bench.work / f"alone_{header.stem}.cpp"
        alone.write_text(text)
        run(cxx, "-std=c++20", *warnings, alone)
        if header.suffix == ".h" or header.stem == "config":
            alone = alone.with_suffix(".c")
            alone.write_text(text)
            run(cc, "-std=c99", *warnings, alone)
    old = bench.work / "alone_status.cpp"
    expect(run(cxx, "-std=c++17", *warnings, old, fails=True), "detgemm's C.. headers need C..20")


def subdirectory(bench):
    """add_subdirectory: same target names, nothing of the parent's is touched, no GPU compiler unasked."""
    project = bench.source / "tests/consumers/subdirectory"
    ours = [f"-DDETGEMM_SOURCE={bench.source}", *[o for o in bench.toolchain() if o.startswith("-DCMAKE")]]
    printed = bench.configure(project, "subdirectory", *ours, "-DDETGEMM_ENABLE_KOKKOS=OFF",
                              "-DCMAKE_UNITY_BUILD=ON", "-DDETGEMM_REFERENCE_TILES=")
    expect(printed, "detgemm cuda: no .DETGEMM_ENABLE_CUDA=OFF.* detgemm hip: no .DETGEMM_ENABLE_HIP=OFF")
    expect(printed, "CMAKE_BUILD_TYPE is empty, so detgemm too is compiled without optimisation")
    bench.make("subdirectory")
    serial = bench.configure(project, "serial", *ours,
                             f"-DKokkos_DIR={bench.source / 'tests/consumers/other_kokkos'}")
    expect(serial, "this Kokkos has no parallel host space, so the reference computes on one thread")
    for program in ("consumer", "core_consumer"):
        expect(run(bench.work / "subdirectory" / program), "^" + re.escape(bench.version))


def refused(bench, sentence, *options):
    expect(bench.configure(bench.source, f"refused-{bench.case}", *options, "-DDETGEMM_BUILD_TESTS=OFF",
                           "-DDETGEMM_BUILD_BENCH=OFF", "-DDETGEMM_BUILD_CLI=OFF", fails=True),
           sentence)


def fast_math(bench):
    """Flags that relax arithmetic on these sources are refused when configuring."""
    kokkos = "-DDETGEMM_ENABLE_KOKKOS=OFF"
    for flag in ("-ffast-math", "-Ofast", "-funsafe-math-optimizations"):
        refused(bench, f"CMAKE_CXX_FLAGS holds {flag}", kokkos, f"-DCMAKE_CXX_FLAGS={flag}")
    refused(bench, "CMAKE_CXX_FLAGS_RELEASE holds -ffast-math", kokkos,
            "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -ffast-math")
    response = bench.work / "flags.txt"  # a place where no list of flags would look
    response.write_text("-ffast-math\n")
    refused(bench, "defines __FAST_MATH__", kokkos, f"-DCMAKE_CXX_FLAGS=@{response}")


def absent(bench):
    """ON means fail with a sentence where what it needs is absent."""
    refused(bench, "DETGEMM_ENABLE_CUDA is ON and no CUDA Toolkit", "-DDETGEMM_ENABLE_CUDA=ON",
            "-DDETGEMM_ENABLE_KOKKOS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
    refused(bench, "DETGEMM_ENABLE_KOKKOS is ON, no Kokkos >= 3.4 was found",
            "-DDETGEMM_ENABLE_KOKKOS=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON",
            "-DFETCHCONTENT_FULLY_DISCONNECTED=ON")
    refused(bench, "DETGEMM_ENABLE_HIP is ON and no-such-compiler is no clang",
            "-DDETGEMM_ENABLE_HIP=ON", "-DDETGEMM_HIP_COMPILER=no-such-compiler",
            "-DDETGEMM_ENABLE_KOKKOS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
    refused(bench, "DETGEMM_ENABLE_HIP is \"maybe\": it must be AUTO, ON or OFF",
            "-DDETGEMM_ENABLE_HIP=maybe")
    printed = bench.configure(bench.source, "automatic", "-DDETGEMM_BUILD_TESTS=OFF",
                              "-DDETGEMM_BUILD_BENCH=OFF", "-DDETGEMM_BUILD_CLI=OFF",
                              "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON",
                              "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON",
                              "-DDETGEMM_HIP_COMPILER=no-such-compiler")
    expect(printed, "detgemm reference: no .*detgemm cuda: no .*detgemm hip: without kernels ")


CASES = {case.__name__: case for case in (
    prepare, package, core_alone, components, warnings, mpi_languages, other_kokkos, kokkos_views, dlpack, c_alone, choose_backend,
    uninstall, debian_package, pkgconfig, first_program, readme, relocated, c_symbols, symbols, headers, subdirectory,
    fast_math, absent)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--source", "--build", "--cmake"):
        parser.add_argument(option, required=True)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("flavour", nargs="?", choices=("static", "shared"))
    arguments = parser.parse_args()
    bench = Workbench(arguments)
    bench.work.mkdir(exist_ok=True)
    try:
        CASES[arguments.case](bench)
    except Failure as failure:
        sys.exit(f"{arguments.case}: {failure}")


if __name__ == "__main__":
    main()
