# Functions that package-check and wheel-check source: a clean Debian, made in a temporary folder from apt's sources, in
# which commands run as root or as another user. `work` is a temporary folder, and `system`
# the Debian in it.

user=somebody

holds() { say "holds  $*"; }
fails() { say "FAILS  $*"; exit 1; }

# Runs a command in the clean system, in /, as that user.
as_user() {
  chroot --userspec="$user:$user" "$system" env -i HOME="/home/$user" PATH=/usr/bin:/bin "$@" </dev/null
}
as_root() {
  chroot "$system" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

own_release() { (. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}"); }

# make_system RELEASE: this machine's with the same apt sources, another one with its main archive alone.
# debootstrap may not know a new release by name; all of Debian are made as sid is.
make_system() {
  local release=$1 own mirror
  own=$(own_release)
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(CREATED_BY) $(CODENAME) $(COMPONENT) $(SITE)' |
    sed -n "s/^Packages $own main //p" | head -n 1)
  [ -n "$mirror" ] || die "apt's sources on this machine have no main archive of Debian ($own)"
  say "making a clean system: $release"
  debootstrap --variant=minbase "$release" "$system" "$mirror" sid >"$work/log" 2>&1 || give_up 'debootstrap failed'
  if [ "$release" = "$own" ]; then
    rm -rf "$system/etc/apt"
    cp -a /etc/apt "$system/etc/apt"
    cp -a /usr/share/keyrings/. "$system/usr/share/keyrings/"
  fi
  cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
  mkdir -p "$system/etc/ssl"
  [ ! -d /etc/ssl/certs ] || cp -rL /etc/ssl/certs "$system/etc/ssl/" 2>/dev/null || true  # for https
}

give_up() {
  tail -n 20 "$work/log" >&2
  die "$1 (above)"
}

# in_clean_system RELEASE ARGUMENT...: runs this script again, with --in-namespace ARGUMENT... WORK, where it may mount.
in_clean_system() {
  local release=$1
  shift
  setup_missing debootstrap=debootstrap util-linux=unshare
  work=$(mktemp -d)
  chmod 755 "$work"
  trap 'rm -rf --one-file-system "$work"' EXIT
  system=$work/system
  make_system "$release"
  unshare --mount --pid --fork --kill-child -- "$0" --in-namespace "$@" "$work"
}

# In a mount and process namespace of its own: whatever happens, nothing stays mounted or running.
mount_what_it_needs() {
  mount -t proc proc "$system/proc"
  mkdir -p "$system$root"
  mount --bind "$root" "$system$root"
  mount -o remount,bind,ro "$system$root"
}

