#!/bin/sh
# Entry point of the MySQL image that `make offline-images` builds. It knows the variables of the official image that
# Flotilla uses: MYSQL_DATABASE, MYSQL_USER, MYSQL_PASSWORD, MYSQL_ROOT_PASSWORD, MYSQL_ROOT_HOST, MYSQL_RANDOM_ROOT_PASSWORD.
set -eu

# literal quotes a value for SQL.
literal() { printf "'%s'" "$(printf %s "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/''/g")"; }

# statements are run at each start, before the server listens.
statements() {
  if [ -n "${MYSQL_ROOT_PASSWORD:-}" ]; then
    password=$(literal "$MYSQL_ROOT_PASSWORD")
    echo "ALTER USER 'root'@'localhost' IDENTIFIED BY $password;"
    root="'root'@$(literal "${MYSQL_ROOT_HOST:-%}")"
    echo "CREATE USER IF NOT EXISTS $root IDENTIFIED BY $password;"
    echo "GRANT ALL ON *.* TO $root WITH GRANT OPTION;"
  else # not needed
    echo "ALTER USER 'root'@'localhost' ACCOUNT LOCK;"
  fi
  # shellcheck disable=SC2016 # SQL's backquotes
  database=\`$(printf %s "${MYSQL_DATABASE:-}" | sed 's/`/``/g')\`
  [ -z "${MYSQL_DATABASE:-}" ] || echo "CREATE DATABASE IF NOT EXISTS $database;"
  [ -n "${MYSQL_USER:-}" ] || return 0
  echo "CREATE USER IF NOT EXISTS $(literal "$MYSQL_USER")@'%' IDENTIFIED BY $(literal "${MYSQL_PASSWORD:-}");"
  [ -z "${MYSQL_DATABASE:-}" ] || echo "GRANT ALL ON $database.* TO $(literal "$MYSQL_USER")@'%';"
}

case "${1:-}" in '' | -*) set -- mysqld "$@" ;; esac
if [ "$1" = mysqld ]; then
  # The server itself rejects a directory with other content.
  [ -d /var/lib/mysql/mysql ] || mysqld --no-defaults --initialize-insecure --datadir=/var/lib/mysql
  statements > /tmp/init.sql
  set -- "$@" --init-file=/tmp/init.sql --socket=/run/mysqld/mysqld.sock --mysqlx=0
fi
exec "$@"
