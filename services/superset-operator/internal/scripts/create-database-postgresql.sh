# Creates the metastore's PostgreSQL database unless it is there. Everything comes
# from environment variables and nothing from a user is part of this text.
set -eu
export PGCONNECT_TIMEOUT="${PGCONNECT_TIMEOUT:-30}" PGCLIENTENCODING=UTF8
export PGHOST="$SUPERSET_OPERATOR__DB_HOST" PGPORT="$SUPERSET_OPERATOR__DB_PORT"
export PGUSER="$SUPERSET_OPERATOR__DB_USER" PGPASSWORD="${SUPERSET_OPERATOR__DB_PASS-}" PGDATABASE=postgres

# psql quotes the name itself, as a text and as an identifier.
query() { psql -X -q -A -t -w -v ON_ERROR_STOP=1 -v name="$SUPERSET_OPERATOR__DB_NAME"; }

# A server that starts refuses connections, or answers that it is starting up. libpq's own messages are English.
export LC_ALL=C
deadline=$(($(date +%s) + 60))
until error=$(echo 'SELECT 1;' | query 2>&1 >/dev/null); do
  status=$?
  case $status:$error in
  2:*'FATAL:  the database system is '*) ;;
  2:*FATAL:*) deadline=0 ;;
  2:*) ;;
  *) deadline=0 ;;
  esac
  if [ "$(date +%s)" -ge "$deadline" ]; then
    printf '%s\n' "$error" >&2
    exit "$status"
  fi
  sleep 1
done

exists=$(printf '%s\n' "SELECT 1 FROM pg_catalog.pg_database WHERE datname = :'name';" | query)
if [ "$exists" = 1 ]; then
  echo "create-database: the database is there already" >&2
  exit 0
fi
printf '%s\n' 'CREATE DATABASE :"name";' | query
echo "create-database: created" >&2
