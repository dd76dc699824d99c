# Arguments: marker, directory, container names. Waits for the end of its standard input, then removes all of them.
trap '' INT TERM HUP
while read -r _; do :; done
marker=$1
dir=$2
shift 2
# A process may just be starting another one, so repeat until a round finds none.
round=0
while [ "$round" -lt 100 ]; do
  found=
  for file in $(grep -lsF -- "$marker" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    [ "$pid" = "$$" ] && continue
    kill -9 "$pid" 2>/dev/null && found=yes
  done
  [ -n "$found" ] || break
  round=$((round + 1))
  sleep 0.05
done
for name in "$@"; do
  docker rm --force --volumes "$name" >/dev/null 2>&1
done
[ -z "$dir" ] || rm -rf -- "$dir"
[ -z "$found" ]
