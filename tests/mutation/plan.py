# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which sources are mutated, and which checks decide about each, the cheapest first.

A check is (ninja targets, command in the build folder). {src} is the mutated tree.
"""

ONE_IS_ENOUGH = ['--gtest_fail_fast', '--gtest_brief=1']
UNIT = {name: ([f'test_{name}'], [f'tests/unit/test_{name}'])
        for name in ('step_vectors', 'formats', 'activation', 'epilogue', 'reduction', 'contract',
                     'contract_text', 'bad_input', 'c_bad_input', 'one_call', 'digest',
                     'concurrency', 'host_device')}
CHECKS = {
    **UNIT,
    'c_api': (['test_c_api'], ['tests/unit/test_c_api']),
    'lanes': (['test_step_vectors_lanes'], ['tests/reference/test_step_vectors_lanes']),
    'page': (['contract_compute'], ['python3', '{src}/tests/contract/agree.py',
                                    'tests/contract/contract_compute', '--outputs', '1']),
    'harness': (['test_conformance'], ['tests/conformance/test_conformance', *ONE_IS_ENOUGH]),
    'said': (['test_said'], ['tests/conformance/test_said', *ONE_IS_ENOUGH]),
    'drawn': (['test_drawn'], ['tests/conformance/test_drawn']),
    'engines': (['test_conformance_engine'], ['tests/conformance/test_conformance_engine']),
    'controls': (['test_controls'], ['tests/controls/test_controls', *ONE_IS_ENOUGH]),
    'conform': (['detgemm_cli'], ['python3', '{src}/tests/cli/test_conform.py', 'core/cli/detgemm']),
    'hostile': (['detgemm_cli', 'engine_hostile'],
                ['python3', '{src}/tests/conformance/hostile.py', 'core/cli/detgemm',
                 'tests/conformance/engines/libengine_hostile.so']),
}

# Folder or file: the checks of its mutants in order; the longest name that fits counts.
WHERE = {
    'core/arithmetic/activation.hpp': ('epilogue', 'activation', 'page'),
    'core/arithmetic/formats.hpp': ('formats', 'step_vectors', 'epilogue', 'page'),
    'core/arithmetic': ('step_vectors', 'lanes', 'page'),
    'core/contract/epilogue.hpp': ('epilogue', 'page'),
    'core/contract/reduction.hpp': ('reduction', 'page'),
    'core/contract/compute_element.hpp': ('page',),
    'core/contract/gemm_arguments.hpp': ('page',),
    'core/contract': ('contract', 'contract_text', 'digest', 'bad_input', 'c_api', 'page'),
    'core/api/host_device.cpp': ('host_device', 'page'),
    'core/api': ('bad_input', 'one_call', 'digest', 'contract', 'c_api', 'c_bad_input',
                 'concurrency', 'page'),
    'core/conformance': ('said', 'engines', 'harness', 'drawn', 'controls', 'conform', 'hostile'),
    'backends/reference/simd': ('lanes', 'page'),
}

# The compiler's flags: the tests of most areas run for less time than they compile; the harness computes
# for so long that it is the other way round.
FLAGS = {'core/conformance': '-O1'}

# What a mutant is drawn from. The harness's engines with planted faults are no product.
SOURCES = ('core/arithmetic', 'core/contract', 'core/api', 'core/conformance',
           'backends/reference/simd')
NOT = ('core/conformance/controls', 'core/conformance/render', 'core/contract/CONTRACT.md',
       'core/conformance/machine.cpp')


def checks_of(path):
    name = max((each for each in WHERE if path == each or path.startswith(each + '/')), key=len)
    return WHERE[name]


def area_of(path):
    return max((each for each in SOURCES if path.startswith(each + '/')), key=len)
