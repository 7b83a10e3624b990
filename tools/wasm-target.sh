#!/usr/bin/env bash
# Makes `cargo build --target wasm32-wasip2` work, whatever way is open:
#
#   1. the target is there: nothing to do
#   2. `rustup target add`, tried for RUSTUP_SECONDS
#   3. its std is built from Rust's own sources of exactly this version, with wasi-libc. The sources are taken from
#      RUST_SRC (a `library` folder, or an archive of one), else from the toolchain's rust-src component, else from
#      Debian's package rust-src; the C library from WASI_LIBC (a folder with libc.a), else from Debian's wasi-libc.
#      Packages are only unpacked, by way of a package list of our own: the system stays as it is.
#
# Else it says what is missing. What it adds goes into the toolchain's folder, beside the targets that are there.
# Settings: RUSTC, CARGO, RUSTUP_SECONDS (60), RUST_SRC, WASI_LIBC, SUITES (Debian suites to look in).
set -euo pipefail

target=wasm32-wasip2
RUSTC=${RUSTC:-rustc} CARGO=${CARGO:-cargo}
RUSTUP_SECONDS=${RUSTUP_SECONDS:-60}
SUITES=${SUITES:-trixie-backports forky sid}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

sysroot=$("$RUSTC" --print sysroot)
libraries=$sysroot/lib/rustlib/$target/lib
version=$("$RUSTC" --version | awk '{print $2}')

say() { echo "wasm-target: $*" >&2; }
there() { compgen -G "$libraries/libstd-*.rlib" >/dev/null; }

there && exit 0

if command -v rustup >/dev/null && [ "$RUSTUP_SECONDS" -gt 0 ]; then
  # The toolchain whose rustc this is; a default other than the project's must not get the target instead.
  if timeout "$RUSTUP_SECONDS" rustup target add --toolchain "$(basename "$sysroot")" "$target" && there; then exit 0; fi
  say "rustup could not add $target; building its std for rustc $version"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# apt with a package list of our own, from the mirror that the system uses already.
apt_ready=
prepare_apt() {
  [ -z "$apt_ready" ] || return 0
  command -v apt-get >/dev/null && command -v dpkg >/dev/null && [ -e "$keyring" ] || return 1
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Component: main' | grep -v security | sort -u | head -n 1)
  [ -n "$mirror" ] || return 1
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/packages"
  for suite in $SUITES; do echo "deb [signed-by=$keyring] $mirror $suite main"; done > "$work/sources.list"
  apt_options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root
    -o Acquire::Languages=none)
  # A suite that the mirror lacks is an error, but the others are read all the same.
  apt-get "${apt_options[@]}" -qq update || true
  apt_ready=yes
}

unpack() { # unpack PACKAGE [UPSTREAM-VERSION]: into $work/packages
  prepare_apt || return 1
  local found
  found=$(apt-cache "${apt_options[@]}" madison "$1" |
    awk -F ' *[|] *' -v wanted="${2:-}" 'wanted == "" || index($2, wanted "+") == 1 || index($2, wanted "-") == 1 { print $2; exit }')
  [ -n "$found" ] || return 1
  (cd "$work" && apt-get "${apt_options[@]}" -qq download "$1=$found" && dpkg -x "$1"_*.deb packages && rm -f "$1"_*.deb)
}

find_sources() { # prints the `library` folder
  local own=$sysroot/lib/rustlib/src/rust/library
  if [ -n "${RUST_SRC:-}" ] && [ -f "$RUST_SRC" ]; then
    mkdir "$work/sources" && tar -xf "$RUST_SRC" -C "$work/sources"
    dirname "$(dirname "$(find "$work/sources" -path '*/std/Cargo.toml' | head -n 1)")"
  elif [ -n "${RUST_SRC:-}" ]; then
    echo "$RUST_SRC"
  elif [ -e "$own/std/Cargo.toml" ]; then
    echo "$own"
  elif [ -e "/usr/src/rustc-$version/library/std/Cargo.toml" ]; then
    echo "/usr/src/rustc-$version/library"
  elif unpack rust-src "$version" >&2; then
    echo "$work/packages/usr/src/rustc-$version/library"
  fi
}

find_libc() { # prints the folder with libc.a and the start files
  for folder in "${WASI_LIBC:-}" "/usr/lib/$target"; do
    if [ -n "$folder" ] && [ -e "$folder/libc.a" ]; then echo "$folder"; return; fi
  done
  if unpack wasi-libc >&2 && [ -e "$work/packages/usr/lib/$target/libc.a" ]; then
    echo "$work/packages/usr/lib/$target"
  fi
}

sources=$(find_sources)
if [ ! -e "$sources/std/Cargo.toml" ]; then
  say "no Rust sources of version $version: set RUST_SRC, or run \`rustup component add rust-src\`"
  say "or use a toolchain that has the target: \`rustup target add $target\`"
  exit 1
fi
libc=$(find_libc)
if [ -z "$libc" ]; then
  say "no wasi-libc for $target: set WASI_LIBC to a folder with libc.a, crt1-command.o and crt1-reactor.o"
  exit 1
fi

# cargo's build-std looks for the sources in the toolchain only.
home=$sysroot/lib/rustlib/src/rust
if [ ! "$sources" -ef "$home/library" ]; then
  mkdir -p "$home"
  cp -a "$sources" "$home/library.new"
  rm -rf "$home/library"
  mv "$home/library.new" "$home/library"
fi
mkdir -p "$libraries/self-contained"
cp "$libc/libc.a" "$libc"/crt1-{command,reactor}.o "$libraries/self-contained/"

# std comes along as the dependency of an empty package.
mkdir -p "$work/empty/src"
: > "$work/empty/src/lib.rs"
cat > "$work/empty/Cargo.toml" <<'EMPTY'
[package]
name = "empty"
version = "0.0.0"
edition = "2024"

[workspace]
EMPTY
# The bitcode is for plugins, which are linked with `lto`; the path is the one that released builds of std have.
commit=$("$RUSTC" -vV | awk '/^commit-hash/ { print $2 }')
(cd "$work/empty" && env -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET RUSTC="$RUSTC" RUSTC_BOOTSTRAP=1 \
  RUSTFLAGS="-Cembed-bitcode=yes --remap-path-prefix=$home=/rustc/$commit" \
  "$CARGO" build --release -Zbuild-std=std,panic_abort --target "$target" --target-dir "$work/target")
rm -f "$work/target/$target/release/deps"/libempty-*
# std last: it is what `there` looks for.
shopt -s extglob
cp "$work/target/$target/release/deps"/!(libstd-*).rlib "$libraries/"
cp "$work/target/$target/release/deps"/libstd-*.rlib "$libraries/"
there || { say "the build gave no std"; exit 1; }
say "added $target to $sysroot"
