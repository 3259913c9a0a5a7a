# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash # sourced by run.sh and wheel.sh

# Roots with a bare system in them, made by debootstrap. Needs root, debootstrap, and mirrors: those of the two
# distributions, or DEBIAN_MIRROR and UBUNTU_MIRROR.

# make_root RELEASE FOLDER: nothing but what debootstrap's variant minbase holds.
make_root() {
  local release=$1 root=$2 mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian} components=main
  local scripts=/usr/share/debootstrap/scripts script=()
  case $release in
    jammy | noble)
      mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} components=main,universe
      # All of Ubuntu's releases since that one are made alike; an older debootstrap does not know their names.
      if [ ! -e $scripts/"$release" ]; then script=("$scripts/gutsy"); fi
      ;;
  esac
  clear_root "$root"
  # Where the distribution's keys are not installed, debootstrap warns and goes on; the root's own apt checks signatures.
  debootstrap --variant=minbase --components=$components "$release" "$root" "$mirror" "${script[@]}" || return
  # How this machine reaches the network: names, and certificates for pip.
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/srv/outside.crt"
  mount --rbind /dev "$root/dev" # with its terminals
  mount --make-rslave "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys" # where Open MPI 5 reads how many cores there are
}

# in_root FOLDER SCRIPT [NAME=VALUE]...: bash's exit status. Of the variables here only those that are named are set there.
in_root() {
  chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    PIP_CERT=/srv/outside.crt SSL_CERT_FILE=/srv/outside.crt ${OPENBLAS_CORETYPE:+OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE} "${@:3}" \
    bash -c "$2" </dev/null
}

unmount_root() {
  local place
  for place in dev proc sys root/.cache/ccache; do
    if mountpoint -q "$1/$place"; then umount -R "$1/$place"; fi
  done
}

# clear_root FOLDER: rm would empty what is mounted there, so nothing may be.
clear_root() {
  unmount_root "$1"
  rm -rf --one-file-system "$1"
}

busy() { cut -d' ' -f3 /proc/loadavg; } # how many programs wanted a core in the last 15 minutes, ours among them
