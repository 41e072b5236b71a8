# Functions that the other tools source: install missing packages, build once.

shopt -s inherit_errexit  # a command that fails in $(...) ends it

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 2; }

# Reports Ctrl-C instead of the failure of the command that it ended.
interrupted() {
  trap '' INT
  if [ "$BASH_SUBSHELL" = 0 ]; then
    [ ! -t 2 ] || printf '\r\033[K' >&2  # over the progress and the ^C
    say interrupted
  fi
  exit 130
}
trap interrupted INT

# Prints the missing ones of PACKAGE=PROBE..., where a probe is a command or a header.
packages_missing() {
  local need missing=()
  for need in "$@"; do
    local package=${need%%=*} probe=${need#*=}
    case $probe in
      /*) [ -e "$probe" ] ;;
      *) command -v "$probe" >/dev/null 2>&1 ;;
    esac || missing+=("$package")
  done
  printf '%s\n' "${missing[@]+"${missing[@]}"}"
}

install_packages() {
  [ $# -gt 0 ] || return 0
  local advice="install what is missing first: apt-get install --no-install-recommends $*"
  command -v apt-get >/dev/null 2>&1 || die "these are missing and this is no Debian system: $*"
  [ "$(id -u)" = 0 ] || die "$advice (as root)"
  say "installing: $*"
  local log
  log=$(mktemp)
  if ! { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" ||
         { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }
       } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    die "apt-get could not install them (above): $advice"
  fi
  rm -f "$log"
}

# Searches a LibTorch, in the order of instr_bench.
have_libtorch() {
  [ -n "${TORCH_DIR:-}${CMAKE_PREFIX_PATH:-}" ] && return 0
  local site
  for site in "${VIRTUAL_ENV:-/nonexistent}"/lib/python3*/site-packages/torch/lib/libtorch_cpu.so; do
    [ -e "$site" ] && return 0
  done
  [ -e /usr/include/torch/csrc/api/include/torch/torch.h ] && return 0
  # An active Python that is not a virtual environment.
  command -v python3 >/dev/null 2>&1 && python3 -c \
    'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null
}

# Searches a clang++, by the names that instr_bench knows. Snippets compile fastest with it.
have_clang() {
  local name
  for name in $(compgen -c clang++); do
    case $name in clang++ | clang++-[1-9][0-9]) return 0 ;; esac
  done
  return 1
}

# Installs the missing ones of PACKAGE=PROBE...
setup_missing() {
  local missing
  mapfile -t missing < <(packages_missing "$@" | sort -u | sed '/^$/d')
  install_packages ${missing[@]+"${missing[@]}"}
}

# The packages that building needs.
build_needs=(
  g++=g++ cmake=cmake ninja-build=ninja pkg-config=pkg-config
  libfmt-dev=/usr/include/fmt/core.h nlohmann-json3-dev=/usr/include/nlohmann/json.hpp
  libsimdjson-dev=/usr/include/simdjson.h
  libexpected-dev=/usr/include/tl/expected.hpp
  libre2-dev=/usr/include/re2/re2.h libxxhash-dev=/usr/include/xxhash.h
  libutf8proc-dev=/usr/include/utf8proc.h
  libtomlplusplus-dev=/usr/include/toml++/toml.h
  libboost-dev=/usr/include/boost/math/distributions/students_t.hpp
  zlib1g-dev=/usr/include/zlib.h libsqlite3-dev=/usr/include/sqlite3.h
  libjs-dygraphs=/usr/share/javascript/dygraphs/dygraph.min.js
)

# The packages that making the Debian package needs.
package_needs=(dpkg-dev=dpkg-shlibdeps file=file binutils=readelf)

# Installs the packages for building, measuring and testing, and PACKAGE=PROBE...
setup_packages() {
  local libtorch=libtorch-dev=/usr/include/torch/csrc/api/include/torch/torch.h clang=clang=clang++
  have_libtorch && libtorch=
  have_clang && clang=
  setup_missing "${build_needs[@]}" ${clang:+"$clang"} valgrind=valgrind \
    valgrind=/usr/include/valgrind/callgrind.h libgtest-dev=/usr/include/gtest/gtest.h \
    libbenchmark-dev=/usr/include/benchmark/benchmark.h ${libtorch:+"$libtorch"} "$@"
}

# The package of libFuzzer, for setup_packages.
fuzzer_package=libclang-rt-14-dev=$(echo /usr/lib/llvm-14/lib/clang/14*/lib/linux/libclang_rt.fuzzer-"$(uname -m)".a)

# Reads ninja's lines and shows the progress: on a terminal every second, elsewhere every ten. Steps take up to a
# minute, so the elapsed time shows that the build is alive. A build with nothing to do prints nothing.
# (No `IFS=` before the `read`: after a timeout, bash 5.2 then assigns to the wrong `step`.)
show_steps() {
  local what=$1 line status step='' next=0 text
  SECONDS=0
  while true; do
    status=0
    read -r -t 1 line || status=$?
    if [ "$status" = 0 ]; then
      case $line in
        *'Re-checking globbed directories'*) ;;
        '['*/*']'*) step=${line#[} step=${step%%]*} ;;
      esac
    elif [ "$status" -le 128 ]; then  # the end of the input, not a timeout
      break
    fi
    [ -n "$step" ] || [ "$SECONDS" -ge 2 ] || continue
    text="$what: ${step:+$step steps, }$SECONDS s"
    if [ -t 2 ]; then
      printf '\r\033[K%s' "$text" >&2
    elif [ "$SECONDS" -ge "$next" ]; then
      say "$text"
      next=$((SECONDS + 10))
    fi
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

# Configures and builds a preset, unless that is done.
build_preset() {
  local preset=$1 log
  shift
  local folder=$root/build/$preset
  mkdir -p "$root/build"
  (
    trap interrupted INT
    exec 9>"$root/build/.lock"
    flock --nonblock 9 || { say "waiting for another run that is building in $root/build"; flock 9; }
    log=$root/build/$preset.log
    if [ ! -e "$folder/build.ninja" ] || [ $# -gt 0 ]; then
      say "configuring $preset"
      (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    fi
    ninja -C "$folder" "${targets[@]+"${targets[@]}"}" 2>&1 | tee "$log" | show_steps "building $preset" ||
      { tail -n 60 "$log" >&2; exit 1; }
  ) || die "the $preset build failed (above)"
}

# Prints the path of a virtual environment with packages from PyPI, made once, in the user's cache.
cached_venv() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/instr_bench/$1 what=$2
  shift 2
  if [ ! -e "$venv/.complete" ]; then
    say "installing $what from PyPI into $venv"
    rm -rf "$venv"
    (umask 077 && mkdir -p "$(dirname "$venv")")
    python3 -m venv "$venv" >&2 || die "python3 -m venv failed: apt-get install python3-venv"
    "$venv/bin/pip" install --quiet --quiet "$@" >&2 ||
      die "$what could not be installed (no network?)"
    touch "$venv/.complete"
  fi
  printf '%s\n' "$venv"
}
