# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# Read by hip_report.sh, whose `say` and `cli` it uses: what the device is, a log of its clock and
# power, and the hardware's counters while single kernels run.
# shellcheck disable=SC2034,SC2154 # variables that the two files share

# find_device INFO_JSON: sets chip ("gfx942"), arithmetic ("cdna3", empty without matrix kernels) and
# variants (what can be forced for it).
find_device() {
  chip='' arithmetic='' variants=''
  local found
  found=$(python3 - "$1" <<'PYTHON'
import json
import sys

try:
    info = json.load(open(sys.argv[1], encoding="utf-8"))
except (OSError, ValueError):
    sys.exit()
device = next((d for d in info["devices"] if d["kind"] == "hip" and "capability" in d), None)
backend = next((b for b in info["backends"] if b["name"] == "hip"), {})
if device:
    chip = device["capability"]
    arithmetic = {"gfx942": "cdna3", "gfx90a": "cdna2"}.get(chip, "-")
    print(chip, arithmetic, *backend.get("variants", []))
PYTHON
  )
  read -r chip arithmetic variants <<< "$found"
  if [ "$arithmetic" = - ]; then arithmetic=''; fi
}

# One line per reading: the second, then what the tool says, its lines joined.
read_clocks() { # FILE PAUSE COMMAND...
  local file=$1 pause=$2
  shift 2
  while :; do
    printf '%s,%s\n' "$(date +%s)" "$("$@" 2>&1 | tr '\n' ' ')" >> "$file"
    sleep "$pause"
  done
}
# start_clocks FILE QUICK: reads clock, power and temperature until stop_clocks; `clocks` says how.
start_clocks() {
  local pause=1 command
  if [ "$2" = yes ]; then pause=0.2; fi
  clock_reader=''
  if command -v amd-smi > /dev/null; then
    command=(amd-smi metric --clock --power --temperature --usage --csv)
  elif command -v rocm-smi > /dev/null; then
    command=(rocm-smi --showclocks --showpower --showtemp --showuse --csv)
  else
    clocks='left out: neither amd-smi nor rocm-smi is on PATH'
    return
  fi
  : > "$1"
  read_clocks "$1" $pause "${command[@]}" &
  clock_reader=$!
  clocks="every $pause s while times and bench run: ${command[*]}"
}
stop_clocks() {
  if [ -n "$clock_reader" ]; then
    kill "$clock_reader" 2>/dev/null
    wait "$clock_reader" 2>/dev/null
  fi
}

# Groups that one pass can count, as AMD names them for MI200 and MI300; names that a chip lacks fail
# their own group alone. The questions: do LDS reads conflict (docs/hip.md assumes that none does), how
# busy are the matrix cores, does L2 serve what the model thinks, how many bytes come from memory.
counter_groups=(
  "lds SQ_LDS_BANK_CONFLICT SQ_LDS_IDX_ACTIVE SQ_INSTS_LDS SQ_WAIT_INST_LDS"
  "mfma SQ_BUSY_CU_CYCLES SQ_VALU_MFMA_BUSY_CYCLES SQ_INSTS_MFMA SQ_INSTS_VALU"
  "waves SQ_WAVES SQ_WAVE_CYCLES SQ_WAIT_ANY GRBM_GUI_ACTIVE"
  "l1 TCP_TCC_READ_REQ_sum TCP_TOTAL_CACHE_ACCESSES_sum"
  "l2 TCC_HIT_sum TCC_MISS_sum TCC_REQ_sum"
  "memory TCC_EA0_RDREQ_sum TCC_EA0_RDREQ_32B_sum"
  "memory_mi200 TCC_EA_RDREQ_sum TCC_EA_RDREQ_32B_sum"
)

# profile TOOL FOLDER GROUP COUNTERS -- COMMAND...: one pass of one profiler.
profile() {
  local tool=$1 folder=$2 group=$3
  shift 3
  local counters=()
  while [ "$1" != -- ]; do
    counters+=("$1")
    shift
  done
  shift
  if [ "$tool" = rocprofv3 ]; then
    rocprofv3 --pmc "${counters[@]}" --output-format csv -d "$folder" -o "$group" -- "$@"
  else
    echo "pmc: ${counters[*]}" > "$folder/$group.txt"
    rocprof -i "$folder/$group.txt" -o "$folder/$group.csv" "$@"
  fi
}

# count_one NAME CONTRACT ROWS [OPTION...]: one problem, once for each group of counters, in FOLDER/NAME.
# Uses and changes the variables of count_kernels.
count_one() {
  local name=$1 contract=$2 rows=$3 group pass
  shift 3
  mkdir -p "$folder/$name"
  for group in "${counter_groups[@]}"; do
    pass=${group%% *}
    # shellcheck disable=SC2086 # a list of counters
    if profile $tool "$folder/$name" "$pass" ${group#* } -- "$cli" run --backend hip "$@" \
      --contract "$contract" --m "$rows" --n $n --k $k --layout NT \
      > "$folder/$name/$pass.log" 2>&1; then
      good=$((good + 1))
    else
      bad=$((bad + 1))
    fi
  done
}

# count_kernels FOLDER QUICK: every kernel that can be forced, on one problem, once for each group; then
# snap, whose rounding of the operands is a kernel that is never forced, and which every chip computes.
count_kernels() {
  local folder=$1 tool variant m=4096 n=4096 k=4096 good=0 bad=0
  for tool in rocprofv3 rocprof none; do
    if command -v $tool > /dev/null; then break; fi
  done
  if [ $tool = none ]; then
    say counters "left out: neither rocprofv3 nor rocprof is on PATH"
    return
  fi
  if [ -z "$chip" ]; then
    say counters "left out: there is no HIP device"
    return
  fi
  if [ "$2" = yes ]; then
    m=64 n=64 k=64
  fi
  mkdir -p "$folder"
  for variant in $variants; do
    # A variant is one of the matrix cores', or of ieee_fma; where it takes neither, the run says so.
    local contract=ieee_fma/fp32/chain rows=$m
    case $variant in
      simt* | mfma-fp32*) ;;
      *) contract=${arithmetic:-ieee_fma}/bf16/chain ;;
    esac
    case $variant in stream*) rows=16 ;; esac
    if [ "$2" = yes ] && [ $good -ne 0 ]; then break; fi
    count_one "$variant" "$contract" "$rows" --variant "$variant"
  done
  count_one snap snap/bf16/tree:512 $m
  say counters "$tool: $good passes counted, $bad failed (their .log files say why)"
}
