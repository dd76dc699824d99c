# shellcheck shell=bash disable=SC2154
# nginx of Debian 12, for Superset's maintenance page, whose configuration the operator mounts. What a user's own
# configuration may include is there too.
debian bookworm nginx-light busybox-static
take "$root" usr/sbin/nginx etc/nginx/mime.types usr/share/nginx/html
libraries "$root" usr/sbin/nginx
busybox "$root" sh wget
users "$root" nginx:101 nonroot:65532
install -d --mode=1777 "$root/var/lib/nginx" "$root/var/log/nginx" "$root/var/cache/nginx" "$root/run"
install -D --mode=644 "$here/nginx.conf" "$root/etc/nginx/nginx.conf"
install -D --mode=644 "$here/default.conf" "$root/etc/nginx/conf.d/default.conf"
pack "$image" "$root" "$(labels nginx 1.22 debian-bookworm BSD-2-Clause)" "USER 101:101" "ENV PATH=/usr/sbin:/usr/bin" \
  "EXPOSE 8080" 'CMD ["nginx", "-g", "daemon off;"]'
also "$image" nginx:alpine # the Superset operator's, where a Superset names none for its maintenance page
