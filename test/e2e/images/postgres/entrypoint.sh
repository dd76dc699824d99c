#!/bin/sh
# Entry point of PostgreSQL. It knows the variables of the official image that Flotilla uses: POSTGRES_USER,
# POSTGRES_PASSWORD, POSTGRES_DB and PGDATA.
set -eu

# fill makes the data under another name, so that a pod that is killed meanwhile starts over.
fill() {
  [ -n "${POSTGRES_PASSWORD:-}" ] || { echo "POSTGRES_PASSWORD is not set" >&2; exit 1; }
  user=${POSTGRES_USER:-postgres} new=$PGDATA.new
  rm -rf "$new"
  printf '%s\n' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$new" --username="$user" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$new/pg_hba.conf"
  database=${POSTGRES_DB:-$user}
  [ "$database" = postgres ] || echo "CREATE DATABASE \"$database\"" | postgres --single -D "$new" postgres
  [ ! -e "$PGDATA" ] || rmdir "$PGDATA" || { echo "PGDATA must be a directory inside a volume: $PGDATA" >&2; exit 1; }
  mv "$new" "$PGDATA"
}

case "${1:-}" in '' | -*) set -- postgres "$@" ;; esac
if [ "$1" = postgres ]; then
  mkdir -p "$(dirname "$PGDATA")"
  [ -e "$PGDATA/PG_VERSION" ] || fill
  set -- "$@" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
fi
exec "$@"
