# Creates the first administrator. The command says by its output alone what became
# of it, so that is read: an administrator who is there already is no failure.
set -e
superset init
# Without --password the command asks for it twice, and without a terminal it reads
# the answers here: arguments could be read by every process of the node.
output=$(printf '%s\n' "$SUPERSET_OPERATOR__ADMIN_PASSWORD" "$SUPERSET_OPERATOR__ADMIN_PASSWORD" |
  superset fab create-admin --username="$SUPERSET_OPERATOR__ADMIN_USERNAME" \
    --firstname="$SUPERSET_OPERATOR__ADMIN_FIRST_NAME" --lastname="$SUPERSET_OPERATOR__ADMIN_LAST_NAME" \
    --email="$SUPERSET_OPERATOR__ADMIN_EMAIL") || {
  status=$?
  printf '%s\n' "$output"
  exit $status
}
printf '%s\n' "$output"
case $output in
*'already exists'*)
  # It says so as well when another user has the e-mail address.
  users=$(superset fab list-users)
  users=$(printf '%s\n' "$users" | tr '[:upper:]' '[:lower:]')
  name=$(printf %s "$SUPERSET_OPERATOR__ADMIN_USERNAME" | tr '[:upper:]' '[:lower:]')
  case $users in
  *"username:$name |"*) ;;
  *)
    echo "init: the administrator was not created: another user has the e-mail address" >&2
    exit 1
    ;;
  esac
  ;;
*'Error!'*)
  echo "init: the administrator was not created" >&2
  exit 1
  ;;
esac
