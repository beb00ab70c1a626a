#!/bin/sh
# `npm run test:valkey [FILES]`: runs the tests of the store and the journeys on Valkey instead of Redis. Uses REDIS_SERVER, or
# valkey-server if it is installed. Otherwise, on Debian, unpacks its packages into build/valkey/ (Debian 12 has them in its
# backports): nothing is installed, no service starts, and no other source of packages is used later.
set -eu
cd "$(dirname "$0")/.."
folder="$PWD/build/valkey"

apt() { # as apt-get, with its own lists
  apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$folder/lists" \
    -o Dir::Cache="$folder/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

unpack() {
  release="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $release" 'Origin: Debian' | sort -u | head -n 1)"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  for suite in "$release" "$release-backports"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done >"$folder/sources.list"
  apt update
  (cd "$folder" && apt download valkey-server valkey-tools && for package in *.deb; do dpkg -x "$package" .; done)
}

server="${REDIS_SERVER:-$(PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v valkey-server || true)}"
if [ -z "$server" ]; then
  server="$folder/usr/bin/valkey-server"
  [ -x "$server" ] || unpack || true
  if ! [ -x "$server" ]; then
    echo 'valkey-server is not found. Install it (dnf, apk, brew: valkey), or name another with REDIS_SERVER.' >&2
    exit 1
  fi
fi
"$server" --version
[ $# -gt 0 ] || set -- test/store test/journeys test/doctor/redis.test.ts
REDIS_SERVER="$server" exec npx jest "$@"
