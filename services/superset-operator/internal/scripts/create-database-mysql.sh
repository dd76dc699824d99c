# Creates the metastore's MySQL or MariaDB database unless it is there. Everything
# comes from environment variables and nothing from a user is part of this text.
set -eu

client=$(command -v mariadb || command -v mysql) || {
  echo "create-database: the image has neither mariadb nor mysql" >&2
  exit 1
}

rest=$SUPERSET_OPERATOR__DB_NAME identifier=
while :; do
  case $rest in
  *'`'*) identifier=$identifier${rest%%'`'*}'``' ;;
  *) break ;;
  esac
  rest=${rest#*'`'}
done

# In binary mode the client sends text to the server as it is. SET NAMES is for a
# MySQL client at a MariaDB server, which do not agree by themselves.
query() {
  MYSQL_PWD=${SUPERSET_OPERATOR__DB_PASS-} "$client" --protocol=TCP --default-character-set=utf8mb4 \
    --host="$SUPERSET_OPERATOR__DB_HOST" --port="$SUPERSET_OPERATOR__DB_PORT" \
    --user="$SUPERSET_OPERATOR__DB_USER" --connect-timeout=30 --binary-mode --batch \
    --init-command='SET NAMES utf8mb4'
}

# A server that starts does not answer.
deadline=$(($(date +%s) + 60))
until error=$(echo 'SELECT 1;' | query 2>&1 >/dev/null); do
  status=$?
  case $error in
  *'ERROR 2002 '* | *'ERROR 2003 '* | *'ERROR 2005 '*) ;;
  *) deadline=0 ;;
  esac
  if [ "$(date +%s)" -ge "$deadline" ]; then
    printf '%s\n' "$error" >&2
    exit "$status"
  fi
  sleep 1
done

query <<SQL
CREATE DATABASE IF NOT EXISTS \`$identifier$rest\` CHARACTER SET utf8mb4;
SQL
echo "create-database: the database is there" >&2
