#!/usr/bin/env bash
# Prints the license texts of Go and of the modules that a program is built from, for its image. Run it in the module of
# the program. Usage: hack/images/licenses.sh PACKAGE
set -euo pipefail

text() { # MODULE DIRECTORY
  local file
  for file in "$2"/{LICENSE,LICENCE,COPYING,NOTICE,PATENTS}*; do
    [ ! -f "$file" ] || printf '%s\n\n' "======== $1: ${file##*/}" "$(< "$file")"
  done
}

text "Go $(go env GOVERSION)" "$(go env GOROOT)"
go list -deps -f '{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}	{{.Dir}}{{end}}{{end}}' "$1" | sort --unique |
  while IFS=$'\t' read -r module dir; do text "$module" "$dir"; done
