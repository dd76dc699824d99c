# shellcheck shell=bash disable=SC2154
# PostgreSQL of Debian 12, for what says image: postgres.
debian bookworm postgresql-15 libc-bin tzdata busybox-static
bin=usr/lib/postgresql/15/bin
mapfile -t modules < <(cd "$packages" && find usr/lib/postgresql/15/lib -name '*.so' ! -name 'llvmjit*')
take "$root" "$bin" "${modules[@]}" usr/share/postgresql/15 usr/share/zoneinfo usr/lib/locale/C.utf8
libraries "$root" "$bin"/{postgres,initdb,psql,pg_dump,pg_isready} "${modules[@]}"
busybox "$root" sh rm rmdir mv mkdir dirname
# initdb wants a name for the user that it runs as: that of our operators, of the official image, and of restricted pods.
users "$root" postgres:70 debian:999 nonroot:65532
install -d --mode=1777 "$root/var/lib/postgresql/data" "$root/var/run/postgresql"
install "$here/entrypoint.sh" "$root/entrypoint.sh"
pack "$image" "$root" "$(labels postgres 15 debian-bookworm PostgreSQL)" "USER 70:70" "ENV PATH=/$bin:/usr/bin" \
  "ENV PGDATA=/var/lib/postgresql/data/pgdata" "EXPOSE 5432" "VOLUME /var/lib/postgresql/data" \
  'ENTRYPOINT ["/entrypoint.sh"]' 'CMD ["postgres"]'
