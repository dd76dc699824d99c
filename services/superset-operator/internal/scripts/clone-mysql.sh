# Copies one MySQL or MariaDB database over another. Everything comes from
# environment variables and nothing from a user is part of this text.
#
# The target is dropped only once the source has been opened and the dump has begun
# to arrive. So a wrong password, a wrong name or an unreachable source leave the
# target as it was, and no disk is needed for the dump.
set -eu
env=SUPERSET_OPERATOR__
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf 'clone: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

client=$(command -v mariadb || command -v mysql) || fail "the image has neither mariadb nor mysql"
dumper=$(command -v mariadb-dump || command -v mysqldump) || fail "the image has neither mariadb-dump nor mysqldump"
options=$("$dumper" --help)

# entry NAME: sets $entry to the value of a variable; fails when it is not set.
entry() { eval "[ -n \"\${$1+set}\" ]" && eval "entry=\$$1"; }

source_db() { # PROGRAM OPTION...
  program=$1
  shift
  MYSQL_PWD=${SUPERSET_OPERATOR__CLONE_SRC_PASS-} "$program" --protocol=TCP --default-character-set=utf8mb4 \
    --host="$SUPERSET_OPERATOR__CLONE_SRC_HOST" --port="$SUPERSET_OPERATOR__CLONE_SRC_PORT" \
    --user="$SUPERSET_OPERATOR__CLONE_SRC_USER" "$@"
}
# In binary mode the client sends text to the server as it is: a backslash is no
# command of the client, such as one that runs a shell. Only DELIMITER still is.
# SET NAMES is for a MySQL client at a MariaDB server, which do not agree by themselves.
target_db() { # OPTION...
  MYSQL_PWD=${SUPERSET_OPERATOR__DB_PASS-} "$client" --protocol=TCP --default-character-set=utf8mb4 \
    --host="$SUPERSET_OPERATOR__DB_HOST" --port="$SUPERSET_OPERATOR__DB_PORT" \
    --user="$SUPERSET_OPERATOR__DB_USER" --connect-timeout=30 --binary-mode --batch --skip-column-names \
    --init-command='SET NAMES utf8mb4' "$@"
}

# identifier NAME: sets $identifier to the name quoted for SQL.
identifier() {
  rest=$1 identifier=
  while :; do
    case $rest in
    *'`'*) identifier=$identifier${rest%%'`'*}'``' ;;
    *) break ;;
    esac
    rest=${rest#*'`'}
  done
  identifier="\`$identifier$rest\`"
}

# excluded NAME: whether the table is left out altogether.
excluded() {
  j=0
  while eval "[ -n \"\${${env}CLONE_EXCLUDE_TABLE_$j+set}\" ]"; do
    eval "[ \"\$1\" != \"\$${env}CLONE_EXCLUDE_TABLE_$j\" ]" || return 0
    j=$((j + 1))
  done
  return 1
}

# dump_definitions dumps the tables whose rows are left out.
dump_definitions() {
  set --
  i=0
  while entry "${env}CLONE_EXCLUDE_TABLE_DATA_$i"; do
    excluded "$entry" || set -- "$@" "$entry"
    i=$((i + 1))
  done
  [ $# -gt 0 ] || return 0
  dump_source --no-data -- "$SUPERSET_OPERATOR__CLONE_SRC_DB" "$@"
}

# dump_rest dumps everything else.
dump_rest() {
  set --
  for list in CLONE_EXCLUDE_TABLE CLONE_EXCLUDE_TABLE_DATA; do
    i=0
    while entry "$env${list}_$i"; do
      set -- "$@" --ignore-table="$SUPERSET_OPERATOR__CLONE_SRC_DB.$entry"
      i=$((i + 1))
    done
  done
  dump_source --routines "$@" -- "$SUPERSET_OPERATOR__CLONE_SRC_DB"
}

# dump_source OPTION...: with the options that only some dump programs have, and that
# a reader without administrative rights, or a server of another version, needs.
dump_source() {
  case $options in *--set-gtid-purged*) set -- --set-gtid-purged=OFF "$@" ;; esac
  case $options in *--column-statistics*) set -- --column-statistics=0 "$@" ;; esac
  source_db "$dumper" --single-transaction --triggers --no-tablespaces "$@"
}

# dump: its exit status goes into a file, since a pipe would lose it.
dump() {
  status=0
  dump_definitions || status=$?
  [ "$status" -ne 0 ] || dump_rest || status=$?
  printf '%s' "$status" >"$work/dump"
}

# disconnect ends the connections to the target that we may end; an open
# transaction in one of them would hold up the drop.
disconnect() {
  target_db --database="$SUPERSET_OPERATOR__DB_NAME" 2>/dev/null <<'SQL' | target_db --force >/dev/null 2>&1 || :
SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID();
SQL
}

recreate() {
  disconnect
  identifier "$SUPERSET_OPERATOR__DB_NAME"
  target_db <<SQL
SET SESSION lock_wait_timeout = 60;
DROP DATABASE IF EXISTS $identifier;
CREATE DATABASE $identifier CHARACTER SET utf8mb4;
SQL
}

# text VALUE: sets $text to an SQL expression of the value.
text() { text="CONVERT(UNHEX('$(printf %s "$1" | od -An -v -tx1 | tr -d ' \n')') USING utf8mb4)"; }

# different_names: whether the server takes the names of source and target for two, which may depend on upper and lower case.
different_names() {
  text "$SUPERSET_OPERATOR__CLONE_SRC_DB"
  source_name=$text
  text "$SUPERSET_OPERATOR__DB_NAME"
  same=$(target_db --execute="SELECT IF(@@lower_case_table_names = 0, a, LOWER(a)) = IF(@@lower_case_table_names = 0, b, LOWER(b)) COLLATE utf8mb4_bin FROM (SELECT $source_name AS a, $text AS b) AS names") ||
    fail "cannot compare the names of source and target; nothing was changed"
  [ "$same" = 0 ]
}

replace_target() {
  # Nothing arrives when the dump did not begin.
  IFS= read -r first || return 1
  say "replacing the target"
  recreate || return 1
  { printf '%s\n' "$first" && cat; } | target_db --database="$SUPERSET_OPERATOR__DB_NAME" >/dev/null
}

server="SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'hostname', 'port', 'datadir')"
# The server's init_connect may set another encoding for one of the users.
from=$(source_db "$client" --connect-timeout=30 --batch --skip-column-names --init-command='SET NAMES utf8mb4' \
  --database="$SUPERSET_OPERATOR__CLONE_SRC_DB" --execute="$server") ||
  fail "cannot read the source; the target is untouched"
to=$(target_db --execute="$server") || fail "cannot connect to the target's server"
[ "$from" != "$to" ] || different_names ||
  fail "the source and the target are the same database; nothing was changed"

say "copying"
restored=0
dump | replace_target || restored=$?
dumped=$(cat "$work/dump" 2>/dev/null) || dumped=
[ "$dumped" = 0 ] && [ "$restored" = 0 ] ||
  fail "copying failed: the dump of the source ended with status ${dumped:-unknown}, the restore into the target with $restored"

i=0
while entry "${env}CLONE_POST_SQL_$i"; do
  say "running postCloneSQL[$i]"
  printf '%s\n' "$entry" | target_db --database="$SUPERSET_OPERATOR__DB_NAME" >/dev/null || fail "postCloneSQL[$i] failed"
  i=$((i + 1))
done
say "done"
