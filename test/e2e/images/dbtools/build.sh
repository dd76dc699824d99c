# shellcheck shell=bash disable=SC2154
# The clients and dump programs that Superset's Jobs call: psql, pg_dump, mysql and mysqldump, of Debian sid, whose
# MySQL is the one that docker-compose.yaml names.
debian sid postgresql-client mysql-client-core mysql-client libc-bin busybox-static
bin=$(cd "$packages" && echo usr/lib/postgresql/*/bin)
tools=("$bin/psql" "$bin/pg_dump" "$bin/pg_isready" usr/bin/mysql usr/bin/mysqldump)
take "$root" "${tools[@]}"
libraries "$root" "${tools[@]}"
for tool in psql pg_dump pg_isready; do ln -s "../../$bin/$tool" "$root/usr/bin/$tool"; done
busybox "$root" sh ash cat cut env grep mktemp rm sed sleep
users "$root" nonroot:65532
pack "$image" "$root" "$(labels dbtools "$(basename "$(dirname "$bin")")" debian-sid "PostgreSQL AND GPL-2.0-only")" \
  "USER 65532:65532" "ENV PATH=/usr/bin" 'CMD ["sh"]'
# The image that the Superset operator runs for createDatabase, which has no setting for it.
also "$image" postgres:17-alpine mysql:8.4
