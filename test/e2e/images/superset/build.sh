# shellcheck shell=bash disable=SC2154
# Apache Superset itself, from PyPI, in two releases; dev is the newer one. An image is built once for the content of its lock
# file and of the scripts that build it.
inputs() { # RELEASE
  cat hack/images/pack.sh "$here"/{build,root,venv}.sh "$here/$1.txt" | sha256sum | cut -d ' ' -f 1
}

for release in 6.0.0 6.1.0; do
  name=${image%:*}:$release key=$(inputs "$release")
  if [ "$(docker image inspect --format '{{index .Config.Labels "dev.flotilla.image.inputs"}}' "$name" 2> /dev/null)" = "$key" ]; then
    report "$name"
    continue
  fi
  hack/ensure gcc strip:binutils pkg-config mariadb_config:libmariadb-dev >&2
  rm -rf "$root"
  "$here/root.sh" "$root" "$release"
  pack "$name" "$root" "$(labels superset "$release" pypi Apache-2.0)" "LABEL dev.flotilla.image.inputs=$key" \
    "USER 1000:1000" "WORKDIR /app" "EXPOSE 8088" "ENV SUPERSET_ENV=production FLASK_APP=superset.app:create_app()" \
    "ENV PATH=/app/venv/bin:/usr/bin PYTHONPATH=/app/pythonpath HOME=/app/superset_home SUPERSET_HOME=/app/superset_home" \
    "ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8" 'CMD ["superset", "version"]'
  rm -rf "$root"
done
docker tag "${image%:*}:6.1.0" "$image"
