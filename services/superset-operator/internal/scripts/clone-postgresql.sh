# Copies one PostgreSQL database over another. Everything comes from environment
# variables and nothing from a user is part of this text.
#
# The target is dropped only once the dump has begun to arrive: by then pg_dump has
# connected to the source, has read its whole catalog and holds a lock on every
# table that it will read. So a wrong password, a missing right or an unreachable
# source leave the target as it was, and no disk is needed for the dump.
set -eu
export PGCONNECT_TIMEOUT="${PGCONNECT_TIMEOUT:-30}"
env=SUPERSET_OPERATOR__
newline='
'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf 'clone: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# entry NAME: sets $entry to the value of a variable; fails when it is not set.
entry() { eval "[ -n \"\${$1+set}\" ]" && eval "entry=\$$1"; }

# The clients read all about a connection from their environment, where neither a
# dash nor an equals sign in a name means anything.
source_db() {
  PGHOST=$SUPERSET_OPERATOR__CLONE_SRC_HOST PGPORT=$SUPERSET_OPERATOR__CLONE_SRC_PORT \
    PGUSER=$SUPERSET_OPERATOR__CLONE_SRC_USER PGPASSWORD=${SUPERSET_OPERATOR__CLONE_SRC_PASS-} \
    PGDATABASE=$SUPERSET_OPERATOR__CLONE_SRC_DB "$@"
}
target_db() { # DATABASE COMMAND...
  database=$1
  shift
  PGHOST=$SUPERSET_OPERATOR__DB_HOST PGPORT=$SUPERSET_OPERATOR__DB_PORT \
    PGUSER=$SUPERSET_OPERATOR__DB_USER PGPASSWORD=${SUPERSET_OPERATOR__DB_PASS-} \
    PGDATABASE=$database "$@"
}
query='env PGCLIENTENCODING=UTF8 psql -X -q -A -t -w -v ON_ERROR_STOP=1'

# pattern NAME: sets $pattern to a pattern of pg_dump that matches only this name.
pattern() {
  rest=$1 pattern=
  while :; do
    case $rest in
    *'"'*) pattern=$pattern${rest%%'"'*}'""' ;;
    *) break ;;
    esac
    rest=${rest#*'"'}
  done
  pattern="\"$pattern$rest\""
}

# foreign_keys NAME: prints the lines of the dump that add foreign keys to the table.
# Without its rows, or without itself, they could not be added as they are.
foreign_keys() {
  source_db $query -v table="$1" <<'SQL'
SELECT coalesce(array_agg(c.oid), '{}') AS tables
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = :'table' AND pg_catalog.pg_table_is_visible(c.oid)
    OR n.nspname || '.' || c.relname = :'table' \gset
SET search_path = '';
SELECT pg_catalog.format('    ADD CONSTRAINT %I %s;', k.conname, pg_catalog.pg_get_constraintdef(k.oid))
  FROM pg_catalog.pg_constraint k
  WHERE k.contype = 'f' AND k.confrelid = ANY (:'tables'::pg_catalog.oid[]) AND k.conrelid <> k.confrelid;
SQL
}

# identify COMMAND...: prints when the server started, which every user may read, whether it is a replica, and its system
# identifier, which a replica has in common with its primary; unknown where it may not be read.
identify() {
  "$@" $query <<'SQL'
SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS readable \gset
SELECT (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint;
SELECT pg_catalog.pg_is_in_recovery();
\if :readable
SELECT system_identifier FROM pg_catalog.pg_control_system();
\else
\echo unknown
\endif
SQL
}

# server_name NAME: prints a name as the server knows it, which cuts a long one.
server_name() {
  target_db postgres $query -v name="$1" <<'SQL'
SELECT :'name'::pg_catalog.name;
SQL
}

# different_servers SOURCE TARGET: fails if a database of the same name on both may be one and the same.
different_servers() {
  set -- $1 $2
  [ "$1" != "$4" ] || fail "the source and the target are the same database; nothing was changed"
  [ "$2" = t ] || return 0
  case " $3 $6 " in *' unknown '*)
    fail "the source is a replica, and whether of the target's server cannot be detected; nothing was changed." \
      "Clone from the primary of the source, or grant both users EXECUTE on pg_control_system()"
    ;;
  esac
  [ "$3" != "$6" ] ||
    fail "the source is a replica of the target's server, or of one that the target's was copied from; nothing was changed." \
      "If it is the latter, clone from the primary of the source"
}

# dump OPTION...: its exit status goes into a file, since a pipe would lose it.
dump() {
  status=0
  source_db pg_dump --no-password --no-owner --no-privileges "$@" || status=$?
  printf '%s' "$status" >"$work/dump"
}

# settings passes a dump on. In its head it makes conditional what pg_dump of
# PostgreSQL 17 sets and older servers do not know.
settings() {
  while IFS= read -r line; do
    case $line in
    'SET transaction_timeout = 0;')
      line="SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout';"
      ;;
    esac
    printf '%s\n' "$line"
    case $line in 'SET client_encoding'*) break ;; esac
  done
  cat
}

# optional_extensions lets the restore continue without an extension, and its comment, that the target rejects. An object that
# needs it fails later. pg_dump may forbid commands of psql, so this is SQL. Behind the first COPY the dump holds rows.
optional_extensions() {
  begin=$newline end= # no line begins with a line break
  while IFS= read -r line; do
    case $line in
    '-- Name: '*'; Type: EXTENSION; Schema: '*) begin='CREATE EXTENSION ' ;;
    '-- Name: EXTENSION '*'; Type: COMMENT; Schema: '*) begin='COMMENT ON EXTENSION ' ;;
    '--') if [ -n "$end" ]; then printf '%s\n' "$end" && end=; fi ;;
    "$begin"*)
      printf '%s\n' 'DO $flotilla$BEGIN'
      begin=$newline end="EXCEPTION WHEN OTHERS THEN RAISE WARNING 'continuing without it: %', SQLERRM; END\$flotilla\$;"
      ;;
    esac
    printf '%s\n' "$line"
    case $line in 'COPY '*) break ;; esac
  done
  cat
}

restore() { settings | target_db "$SUPERSET_OPERATOR__DB_NAME" $query >/dev/null; }

# recreate drops the target, which also ends all connections to it, and creates it
# empty, without what the server adds to new databases: that is in the dump or unwanted.
recreate() {
  target_db postgres $query -v name="$SUPERSET_OPERATOR__DB_NAME" <<'SQL'
DROP DATABASE IF EXISTS :"name" WITH (FORCE);
CREATE DATABASE :"name" TEMPLATE template0;
SQL
}

replace_target() {
  # Nothing arrives when the dump did not begin.
  IFS= read -r first || return 1
  say "replacing the target"
  recreate || return 1
  { printf '%s\n' "$first" && cat; } | optional_extensions | restore
}

# listed LINE LINES: whether the line is one of the lines.
listed() {
  [ -n "$1" ] || return 1
  case $newline$2$newline in *"$newline$1$newline"*) return 0 ;; esac
  return 1
}

# without_orphans leaves out the foreign keys to tables that are not there, and
# exempts the rows that exist from those to tables that are empty.
without_orphans() {
  held=
  while IFS= read -r line; do
    if listed "$line" "$gone"; then
      held= # the line before: ALTER TABLE
      continue
    fi
    if listed "$line" "$emptied"; then line="${line% NOT VALID;}" line="${line%;} NOT VALID;"; fi
    printf %s "$held"
    held=$line$newline
  done
  printf %s "$held"
}

# missing_extensions prints which extensions of the source the target does not have.
missing_extensions() {
  set -- $query -c 'SELECT extname FROM pg_catalog.pg_extension ORDER BY extname'
  created=$(target_db "$SUPERSET_OPERATOR__DB_NAME" "$@") || return 0
  source_db "$@" | while IFS= read -r name; do
    listed "$name" "$created" || printf ' %s' "$name"
  done
}

# finished WHAT STATUS: fails unless both ends of a pipe succeeded.
finished() {
  dumped=$(cat "$work/dump" 2>/dev/null) || dumped=
  [ "$dumped" = 0 ] && [ "$2" = 0 ] && return
  missing=
  # With this status psql reports a statement that failed.
  if [ "$2" = 3 ]; then missing=$(missing_extensions); fi
  missing=${missing:+"; the target lacks these extensions of the source:$missing"}
  fail "$1 failed: the dump of the source ended with status ${dumped:-unknown}, the restore into the target with $2$missing"
}

from=$(identify source_db) || fail "cannot read the source; the target is untouched"
to=$(identify target_db postgres) || fail "cannot connect to the target's server"
from_name=$(source_db $query -c 'SELECT pg_catalog.current_database()') || fail "cannot read the source; the target is untouched"
to_name=$(server_name "$SUPERSET_OPERATOR__DB_NAME") || fail "cannot connect to the target's server"
if [ "$from_name" = "$to_name" ]; then different_servers "$from" "$to"; fi

gone='' emptied=''
set --
i=0
while entry "${env}CLONE_EXCLUDE_TABLE_$i"; do
  pattern "$entry"
  # A dot may be part of the name, or it may stand between schema and name.
  set -- "$@" --exclude-table="$pattern"
  case $entry in *.*) set -- "$@" --exclude-table="${pattern%%.*}\".\"${pattern#*.}" ;; esac
  lines=$(foreign_keys "$entry") || fail "cannot read the foreign keys to an excluded table"
  gone=$gone$newline$lines
  i=$((i + 1))
done
i=0
while entry "${env}CLONE_EXCLUDE_TABLE_DATA_$i"; do
  pattern "$entry"
  set -- "$@" --exclude-table-data="$pattern"
  case $entry in *.*) set -- "$@" --exclude-table-data="${pattern%%.*}\".\"${pattern#*.}" ;; esac
  lines=$(foreign_keys "$entry") || fail "cannot read the foreign keys to an excluded table"
  emptied=$emptied$newline$lines
  i=$((i + 1))
done

# Tables with their rows come from one snapshot. What is built on them (indexes,
# keys, triggers) comes in a second pass, which holds no rows, only text to edit.
say "copying the tables"
restored=0
dump --section=pre-data --section=data "$@" | replace_target || restored=$?
finished "copying the tables" "$restored"
say "adding indexes and constraints"
rm -f "$work/dump"
restored=0
dump --section=post-data "$@" | without_orphans | restore || restored=$?
finished "adding indexes and constraints" "$restored"

i=0
while entry "${env}CLONE_POST_SQL_$i"; do
  say "running postCloneSQL[$i]"
  # Behind a line break a backslash is no command of psql, such as one that runs a shell.
  target_db "$SUPERSET_OPERATOR__DB_NAME" $query -c "$newline$entry" >/dev/null ||
    fail "postCloneSQL[$i] failed"
  i=$((i + 1))
done
say "done"
