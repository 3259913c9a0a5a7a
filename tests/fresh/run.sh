#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

# run.sh [--order demo-first|test-first] [RELEASE...]: README's two commands on a bare system, in a root of debootstrap's
# (bookworm when none is named). Needs root, debootstrap and the mirror that apt uses here, or FRESH_MIRROR. The
# commit that is checked out is cloned; what is not committed is not tested. Fails where a command fails, no
# test ran, or an object was compiled twice because the two scripts configure a folder differently. WORK names the
# folder of the roots, build/fresh by default; the root of a failed run stays there.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD orders=(demo-first test-first) releases=()
while [ $# -ne 0 ]; do
  case $1 in
    --order)
      case ${2:-} in
        demo-first | test-first) orders=("$2") ;;
        *)
          echo "run.sh: --order is \"${2:-}\": it must be demo-first or test-first" >&2
          exit 2
          ;;
      esac
      shift
      ;;
    -*)
      echo "run.sh: option is \"$1\": it must be --order" >&2
      exit 2
      ;;
    *) releases+=("$1") ;;
  esac
  shift
done
[ ${#releases[@]} -ne 0 ] || releases=(bookworm)
work=${WORK:-$PWD/build/fresh}
mirror=${FRESH_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' | head -n 1)}
mkdir -p "$work"

unmount() { for place in dev proc; do umount "$1/$place" 2>/dev/null || true; done; }

# twice FOLDER: objects that ninja wrote more than once there. Its log has a line per output and time of writing.
twice() {
  tail -n +2 "$1/.ninja_log" | awk -F'\t' '$4 ~ /\.o$/ { seen[$4 "\t" $3]++; if (seen[$4 "\t" $3] == 1) count[$4]++ }
    END { for (name in count) if (count[name] > 1) print name }'
}

# try RELEASE ORDER: a bare root, a clone in it, both commands.
try() {
  local release=$1 order=$2 root=$work/$1-$2 first=scripts/demo.sh second="scripts/test.sh --host" log code=0
  log=$root.log
  if [ "$order" = test-first ]; then first="scripts/test.sh --host" second=scripts/demo.sh; fi
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase "$release" "$root" "$mirror" >"$log" 2>&1
  # How this machine reaches the network: names, certificates, pip's settings.
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/detgemm-fresh.crt"
  mount --bind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  git clone --quiet --no-hardlinks "$source" "$root/srv/detgemm"
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    PIP_CERT=/etc/ssl/certs/detgemm-fresh.crt ${OPENBLAS_CORETYPE:+OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE} \
    bash -c "cd /srv/detgemm && echo '== $first' && $first && echo '== $second' && $second" </dev/null >>"$log" 2>&1 || code=$?
  unmount "$root"
  local said build=$root/srv/detgemm/build/host again
  said=$(grep -oE '^detgemm: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$log" | tail -n 1)
  again=$(twice "$build")
  echo "$release, $order: exit status $code, ${said:-no test ran}, $(wc -w <<<"$again") objects compiled twice"
  if [ $code -ne 0 ] || [ -z "$said" ] || [[ $said == "detgemm: 0 passed"* ]] || [ -n "$again" ]; then
    head -n 5 <<<"$again"
    tail -n 25 "$log"
    return 1
  fi
  rm -rf --one-file-system "$root"
}

failed=0 passed=0
for release in "${releases[@]}"; do
  for order in "${orders[@]}"; do
    if try "$release" "$order"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    unmount "$work/$release-$order"
  done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
