#!/usr/bin/env bash
# Tests the database and server images of test/e2e/images with a read-only root, as an unprivileged user and without
# capabilities. Prints TRIED <image> for each. Usage: hack/docker run hack/images/try.sh
set -euo pipefail
here=flotilla-try-$$
work=$(mktemp -d)
trap 'rm -rf "$work"; docker ps --all --quiet --filter "name=$here" | xargs --no-run-if-empty docker rm --force --volumes > /dev/null' EXIT

fail() { echo "hack/images/try.sh: $*" >&2; exit 1; }
run() { docker run --read-only --cap-drop ALL --security-opt no-new-privileges "$@"; }

await() { # WHAT COMMAND...
  local what=$1
  shift
  for _ in $(seq 300); do
    "$@" > /dev/null 2>&1 && return
    sleep 0.2
  done
  "$@" || docker logs "$here-${what%% *}" >&2 || :
  fail "$what does not answer"
}

want() { # WHAT WANTED GOT
  [ "$2" = "$3" ] || fail "$1: $3, want $2"
}

# tool runs a database tool in the network of a server.
tool() { # SERVER VARIABLE=VALUE... -- COMMAND...
  local server=$1 env=()
  shift
  while [ "$1" != -- ]; do env+=(--env "$1"); shift; done
  shift
  run --rm --interactive --tmpfs /tmp --network "container:$here-$server" "${env[@]}" flotilla-e2e/dbtools:dev "$@"
}

# cloned runs the clone script of the Superset operator like its Job: from database data to database copy, without the rows
# of two.
cloned() { # SERVER SCRIPT VARIABLE=VALUE...
  local scripts=services/superset-operator/internal/scripts
  tool "$1" SUPERSET_OPERATOR__DB_HOST=127.0.0.1 SUPERSET_OPERATOR__DB_NAME=copy SUPERSET_OPERATOR__CLONE_SRC_HOST=127.0.0.1 \
    SUPERSET_OPERATOR__CLONE_EXCLUDE_TABLE_DATA_0=two "${@:3}" -- /bin/sh -c "$(cat "$scripts/$2")" 2> "$work/clone" ||
    fail "$2: $(cat "$work/clone")"
}

# side prints the environment variables of both sides of a clone.
side() { # PORT USER PASSWORD DATABASE
  printf '%s\n' "SUPERSET_OPERATOR__DB_PORT=$1" "SUPERSET_OPERATOR__CLONE_SRC_PORT=$1" "SUPERSET_OPERATOR__DB_USER=$2" \
    "SUPERSET_OPERATOR__CLONE_SRC_USER=$2" "SUPERSET_OPERATOR__DB_PASS=$3" "SUPERSET_OPERATOR__CLONE_SRC_PASS=$3" "SUPERSET_OPERATOR__CLONE_SRC_DB=$4"
}

postgres() {
  # Like the engine operator, with a name and a password that require quoting.
  run --detach --name "$here-postgres" --user 70:70 --memory 256m --tmpfs /var/lib/postgresql/data:uid=70,mode=0770 \
    --tmpfs /var/run/postgresql:uid=70 --tmpfs /tmp --env POSTGRES_USER=firebolt --env "POSTGRES_PASSWORD=p'w\"d" \
    --env 'POSTGRES_DB=Some "data"' --env PGDATA=/var/lib/postgresql/data/pgdata flotilla-e2e/postgres:dev > /dev/null
  await postgres docker exec "$here-postgres" pg_isready -U firebolt
  local to=(PGHOST=127.0.0.1 PGUSER=firebolt "PGPASSWORD=p'w\"d" 'PGDATABASE=Some "data"')
  tool postgres "${to[@]}" -- psql -qc "CREATE TABLE one (n int); INSERT INTO one VALUES (41), (1)"
  want "sum in PostgreSQL" 42 "$(tool postgres "${to[@]}" -- psql -qAtc 'SELECT sum(n) FROM one')"
  want "rows that pg_dump writes" 2 "$(tool postgres "${to[@]}" -- pg_dump --data-only | grep -c '^[0-9][0-9]*$')"
  if tool postgres PGHOST=127.0.0.1 PGUSER=firebolt PGPASSWORD=wrong -- psql -qc 'SELECT 1' 2> /dev/null; then
    fail "PostgreSQL accepts a wrong password"
  fi
  tool postgres "${to[@]}" -- psql -qc "CREATE TABLE two (n int); INSERT INTO two VALUES (1)"
  mapfile -t sides < <(side 5432 firebolt "p'w\"d" 'Some "data"')
  cloned postgres clone-postgresql.sh "${sides[@]}"
  want "rows of the copy in PostgreSQL" "2 0" "$(tool postgres "${to[@]}" PGDATABASE=copy -- psql -qAt -F ' ' -c 'SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)')"
  docker stop --time 20 "$here-postgres" > /dev/null
  want "status of PostgreSQL when it is stopped" 0 "$(docker inspect --format '{{.State.ExitCode}}' "$here-postgres")"
  echo "TRIED flotilla-e2e/postgres:dev"
}

mysql() { # IMAGE
  run --detach --name "$here-mysql" --tmpfs /var/lib/mysql:uid=999 --tmpfs /run/mysqld:uid=999 --tmpfs /tmp --tmpfs /var/lib/mysql-files:uid=999 \
    --env MYSQL_ROOT_PASSWORD=secret --env MYSQL_DATABASE=data "$1" > /dev/null
  local to=(MYSQL_PWD=secret) at=(--protocol=TCP --host=127.0.0.1 --user=root)
  await mysql tool mysql "${to[@]}" -- mysql "${at[@]}" -e 'SELECT 1'
  tool mysql "${to[@]}" -- mysql "${at[@]}" data -e "CREATE TABLE one (n int); INSERT INTO one VALUES (41), (1)"
  want "rows that mysqldump writes" 1 "$(tool mysql "${to[@]}" -- mysqldump "${at[@]}" --no-tablespaces --set-gtid-purged=OFF --single-transaction data | grep -c 'VALUES (41),(1)')"
  tool mysql "${to[@]}" -- mysql "${at[@]}" data -e "CREATE TABLE two (n int); INSERT INTO two VALUES (1)"
  mapfile -t sides < <(side 3306 root secret data)
  cloned mysql clone-mysql.sh "${sides[@]}"
  want "rows of the copy in MySQL" "2 0" "$(tool mysql "${to[@]}" -- mysql "${at[@]}" -BN copy -e "SELECT CONCAT((SELECT COUNT(*) FROM one), ' ', (SELECT COUNT(*) FROM two))")"
  echo "TRIED $1"
}

nginx() {
  run --detach --name "$here-nginx" --user 101:101 --tmpfs /tmp flotilla-e2e/nginx:dev > /dev/null
  await nginx docker exec "$here-nginx" wget -qO /dev/null http://127.0.0.1:8080/index.html
  # The maintenance page that the Superset operator renders.
  local page=services/superset-operator/internal/maintenance/testdata/managed
  mkdir "$work/page"
  cp "$page"/{nginx.conf,default.conf,index.html} "$work/page"
  chmod -R a+rX "$work"
  run --detach --name "$here-page" --user 101:101 --tmpfs /tmp --volume "$work/page/nginx.conf:/etc/nginx/nginx.conf:ro" \
    --volume "$work/page/default.conf:/etc/nginx/conf.d/default.conf:ro" --volume "$work/page/index.html:/usr/share/nginx/html/index.html:ro" \
    flotilla-e2e/nginx:dev > /dev/null
  await page docker exec "$here-page" wget -qO /dev/null http://127.0.0.1:9000/
  [[ $(docker exec "$here-page" wget -qO- http://127.0.0.1:9000/dashboard/7) == *"Upgrade in Progress"* ]] || fail "nginx does not show the maintenance page"
  echo "TRIED flotilla-e2e/nginx:dev"
}

# instance runs the containers of an instance like the engine operator, and queries an engine through the gateway.
instance() {
  local dir=$1 golden=services/engine-operator/internal start
  mkdir "$dir/secret" "$dir/metadata" "$dir/engine" "$dir/gateway"
  printf firebolt > "$dir/secret/username"
  printf secret > "$dir/secret/password"
  config() { sed -n '/config.yaml: |/,/^kind:/s/^    //p' "$golden/render/testdata/$1"; }
  config own-postgres/objects.golden.yaml | sed 's/shop-metadata-pg.default.svc.cluster.local/127.0.0.1/' > "$dir/metadata/config.yaml"
  config minimal/generation.golden.yaml | sed 's/shop-metadata.default.svc.cluster.local/127.0.0.1/' > "$dir/engine/config.yaml"
  sed 's/port_value: 9090/port_value: 9091/' "$golden/gateway/testdata/minimal/envoy.yaml" > "$dir/gateway/envoy.yaml"
  chmod -R a+rX "$dir"
  run --detach --name "$here-instance" --user 70:70 --tmpfs /var/lib/postgresql/data:uid=70,mode=0770 --tmpfs /tmp \
    --tmpfs /var/run/postgresql:uid=70 --env POSTGRES_USER=firebolt --env POSTGRES_PASSWORD=secret --env POSTGRES_DB=firebolt_metadata \
    --add-host shop-engine-service.data.svc.cluster.local:127.0.0.1 flotilla-e2e/postgres:dev-1 > /dev/null
  run --detach --name "$here-metadata" --user 1111:1111 --network "container:$here-instance" \
    --volume "$dir/metadata:/configs:ro" --volume "$dir/secret:/secrets/postgres:ro" \
    --env POSTGRES_USERNAME_FILE=/secrets/postgres/username --env POSTGRES_PASSWORD_FILE=/secrets/postgres/password \
    flotilla-e2e/metadata:dev-1 /dedicated-pensieve --config /configs/config.yaml > /dev/null
  # shellcheck disable=SC2016 # the backquotes are Go syntax
  start=$(sed -n '/^const startup = `/,/^`/p' "$golden/render/container.go" | sed '1s/.*`//; $d')
  run --detach --name "$here-engine" --user 3473:3473 --network "container:$here-instance" --env POD_INDEX=0 \
    --tmpfs /var/lib/firebolt:uid=3473 --volume "$dir/engine/config.yaml:/var/lib/firebolt/config.yaml:ro" --tmpfs /run/firebolt:uid=3473 \
    --entrypoint /bin/bash flotilla-e2e/engine:dev-2 -c "$start" > /dev/null
  run --detach --name "$here-gateway" --user 101:101 --network "container:$here-instance" --volume "$dir/gateway:/etc/envoy:ro" --tmpfs /tmp \
    flotilla-e2e/gateway:dev-1 envoy --config-path /etc/envoy/envoy.yaml --concurrency 2 --disable-hot-restart > /dev/null
  await "engine by the gateway" docker exec "$here-gateway" wget -qO- --header 'X-Firebolt-Engine: shop-engine' http://127.0.0.1:8080/
  [[ $(docker exec "$here-gateway" wget -qO- --header 'X-Firebolt-Engine: shop-engine' 'http://127.0.0.1:8080/?sleep=10ms') == *'"version":"dev-2"'* ]] ||
    fail "the engine of dev-2 reports another version"
  docker exec "$here-gateway" wget -qO /dev/null http://127.0.0.1:9091/healthz || fail "the gateway is not healthy"
  # shellcheck disable=SC2016 # as above
  docker exec "$here-gateway" /bin/bash -c "$(sed -n '/fmt.Sprintf(`/,/^`/p' "$golden/gateway/drain.go" |
    sed '1s/.*`//; $d; s/%d$/0/; s|127.0.0.1/%d|127.0.0.1/9901|; s/\\\\r/\\r/g')"
  if docker exec "$here-gateway" wget -qO- http://127.0.0.1:9091/healthz 2> /dev/null; then
    fail "the gateway is healthy after its preStop hook"
  fi
  docker stop --time 20 "$here-engine" > /dev/null
  want "status of the engine when it is stopped" 0 "$(docker inspect --format '{{.State.ExitCode}}' "$here-engine")"
  printf 'TRIED flotilla-e2e/%s:dev\n' metadata engine gateway
}

mysql=$(sed -n 's|^    image: .*:-\(mysql:[^}]*\)}$|\1|p' docker-compose.yaml)
for image in "$mysql" flotilla-e2e/{postgres,metadata,engine,gateway,dbtools,nginx,busybox}:dev; do
  docker image inspect "$image" > /dev/null 2>&1 || fail "no image $image: run make offline-images SERVICES=mysql e2e-images first"
done
postgres
instance "$work"
mysql "$mysql"
echo "TRIED flotilla-e2e/dbtools:dev"
nginx
want "user of busybox" 65532 "$(run --rm flotilla-e2e/busybox:dev id -u)"
echo "TRIED flotilla-e2e/busybox:dev"
