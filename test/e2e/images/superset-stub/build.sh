# shellcheck shell=bash disable=SC2154
# The Superset stub in three releases: dev, dev-2, to which dev can be upgraded, and broken, whose migration fails.
declare -A later=([6.0.0]="6_1 broken" [6.1.0]=broken [6.2.0]="")
for release in dev=6.0.0 dev-2=6.1.0 broken=6.2.0; do
  rm -rf "$root"
  "$here/root.sh" "$root" "${release#*=}"
  # Like an image of Superset, it has no migrations of later releases.
  for folder in ${later[${release#*=}]}; do rm -r "$root/app/superset/migrations/versions/$folder"; done
  pack "${image%:*}:${release%=*}" "$root" "$(labels superset "${release#*=}" debian-bookworm Apache-2.0)" \
    "USER 1000:1000" "WORKDIR /app" "EXPOSE 8088" \
    "ENV PATH=/usr/bin PYTHONPATH=/app/pythonpath:/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp" \
    'CMD ["/usr/bin/run-server.sh"]'
  # Versions can be compared, so that the operator knows an upgrade when it sees one.
  also "${image%:*}:${release%=*}" "${image%:*}:${release#*=}"
done
