# shellcheck shell=bash
# Builds images without a registry, for hack/images.sh and for the build.sh of each directory of test/e2e/images.
# Sourced from the root of the repository. It defines:
#   fail TEXT...                 exits with an error
#   debian SUITE PACKAGE...      unpacks Debian packages with their dependencies, once; $packages is the directory
#   take ROOT PATH...            copies paths of $packages into a tree whose bin, sbin and lib are those of usr
#   libraries ROOT FILE...       copies the shared libraries that programs and modules of $packages load
#   busybox ROOT APPLET...       copies busybox of $packages, which must have busybox-static, with links of these names
#   users ROOT NAME:ID...        /etc/passwd and /etc/group
#   compile ROOT DIR PACKAGE PROGRAM      a static Go program of the module in DIR
#   labels TITLE VERSION REVISION LICENSE
#   pack IMAGE ROOT CHANGE...    the image, and its line IMAGE <name> <bytes> <seconds>
#   also IMAGE NAME...           further names of an image, which its tar has too
cache=${FLOTILLA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/flotilla}
dirty=$(git status --porcelain -- libs services go.work 2> /dev/null | head -c 1) || : # without git the revision is unknown
# shellcheck disable=SC2034 # used by scripts that source this file
revision=$(git rev-parse HEAD 2> /dev/null || echo unknown)${dirty:+-dirty}
packages= # the directory of packages that debian unpacked
start=$SECONDS # start of the build of the next image

fail() { echo "hack/images.sh: $*" >&2; exit 1; }

report() { # NAME
  echo "IMAGE $1 $(docker image inspect --format '{{.Size}}' "$1") $((SECONDS - start))"
  start=$SECONDS
}

# pack builds an image with one layer from a directory. The layer depends only on the contents and modes of the files, and
# existing images are not built again.
pack() { # NAME ROOT CHANGE...
  local name=$1 root=$2 changes=() key former
  shift 2
  local tar=(tar --create --directory "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner
    --format=gnu .)
  key=$( (printf '%s\n' "$@"; "${tar[@]}") | sha256sum | cut -d ' ' -f 1)
  for change in "$@" "LABEL dev.flotilla.image.key=$key"; do changes+=(--change "$change"); done
  if [ "$(docker image inspect --format '{{index .Config.Labels "dev.flotilla.image.key"}}' "$name" 2> /dev/null)" != "$key" ]; then
    former=$(docker image inspect --format '{{.Id}}' "$name" 2> /dev/null) || :
    "${tar[@]}" | docker import "${changes[@]}" - "$name" > /dev/null
    # Remove the image that had the name, unless it has another name or runs.
    [ "$(docker image inspect --format '{{len .RepoTags}}' "$former" 2> /dev/null)" != 0 ] ||
      docker image rm "$former" > /dev/null 2>&1 || :
  fi
  report "$name"
}

# also adds names to an image. It does not take the name of a foreign image, such as an official one.
also() { # IMAGE NAME...
  local name of
  for name in "${@:2}"; do
    of=$(docker image inspect --format '{{index .Config.Labels "dev.flotilla.image.key"}}' "$name" 2> /dev/null) || of=none
    if [ -n "$of" ]; then docker tag "$1" "$name"; else echo "hack/images.sh: $name is another image, not replaced" >&2; fi
  done
}

labels() { # TITLE VERSION REVISION LICENSE
  echo "LABEL org.opencontainers.image.title=$1 org.opencontainers.image.version=$2 org.opencontainers.image.revision=$3 \
org.opencontainers.image.source=https://github.com/flotilla-dev/flotilla org.opencontainers.image.licenses=\"$4\""
}

debian() { # SUITE PACKAGE...
  packages=$cache/packages/$1-$(printf '%s\n' "${@:2}" | sha256sum | cut -c 1-12)
  hack/docker-packages "$1" "$packages" "${@:2}"
}

take() { # ROOT PATH...
  local dir
  for dir in bin sbin lib lib64; do
    mkdir -p "$1/usr/$dir"
    [ -e "$1/$dir" ] || ln -s "usr/$dir" "$1/$dir"
  done
  tar --create --directory "$packages" "${@:2}" | tar --extract --keep-directory-symlink --directory "$1"
}

# libraries uses the dynamic loader of the packages, since this machine may have other libraries.
libraries() { # ROOT FILE...
  local loader path found
  loader=$(find "$packages" -path '*-linux-gnu/ld-linux*.so.*' | head -n 1)
  path=$(find "$packages" -path '*/lib/*' -name 'lib*.so*' -printf '%h\n' | sort --unique | paste --serial --delimiters=:)
  found=$(for file in "${@:2}"; do "$loader" --library-path "$path" --list "$packages/$file" || fail "$file has no libraries: $packages is not complete"; done)
  [[ $found != *"not found"* ]] || fail "libraries are missing in $packages: $(grep 'not found' <<< "$found" | sort --unique)"
  mapfile -t found < <(sed -n "s|.* => $packages/\(.*\) (0x.*|\1|p" <<< "$found" | sort --unique)
  { # a library name is a link to the file with the full version
    for file in "${found[@]}"; do
      echo "$file"
      realpath --relative-to="$packages" "$packages/$file"
    done
    find "$packages" -maxdepth 4 -name 'ld-linux*.so.*' -printf '%P\n'
  } | sort --unique > "$1.libraries"
  take "$1" --files-from="$1.libraries"
  rm "$1.libraries"
}

# busybox provides the commands of health checks and scripts.
busybox() { # ROOT APPLET...
  install -D "$(find "$packages" -path '*/bin/busybox' | head -n 1)" "$1/usr/bin/busybox"
  for applet in "${@:2}"; do ln -s busybox "$1/usr/bin/$applet"; done
  install -d --mode=1777 "$1/tmp"
}

users() { # ROOT NAME:ID...
  local user
  mkdir -p "$1/etc"
  for user in root:0 "${@:2}"; do
    echo "${user%:*}:x:${user#*:}:${user#*:}::/tmp:/bin/sh" >> "$1/etc/passwd"
    echo "${user%:*}:x:${user#*:}:" >> "$1/etc/group"
  done
}

compile() { # ROOT DIR PACKAGE PROGRAM
  local out
  mkdir -p "$(dirname "$1/$4")"
  out=$(cd "$(dirname "$1/$4")" && pwd)/$(basename "$4")
  (cd "$2" && CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$out" "$3")
}
