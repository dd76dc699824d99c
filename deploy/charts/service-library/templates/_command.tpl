{{/* A Job that runs a command of the service once, with its ServiceAccount and permissions: docs/commands.md. The flags
of the user come last, so they override those of the values. */}}
{{- define "flotilla.command" }}
{{- $root := .root }}
{{- with $root.Values.command }}
{{- if $root.Release.IsUpgrade }}{{ fail "command is for helm template --show-only templates/command.yaml: remove it from the values of the release" }}{{ end }}
{{- $name := printf "%s-command" $root.Chart.Name }}
{{- $args := $.args | default list }}
{{- include "flotilla.jobAccount" (dict "root" $root "name" $name) }}
{{- if not (eq $.token false) }}
{{- $args = append $args (printf "--leader-election-namespace=%s" $root.Release.Namespace) }}
{{- with include "flotilla.namespacesFlag" $root }}{{ $args = append $args . }}{{ end }}
{{- if $root.Values.rbac.create }}
{{- include "flotilla.roles" (dict "root" $root "file" "files/rbac/operator_role.yaml" "account" $name "suffix" "-command") }}
{{- include "flotilla.selectorRole" (dict "root" $root "account" $name) }}
{{- end }}
{{- end }}
{{- include "flotilla.job" (dict "root" $root "name" $name "account" $name "token" $.token "once" true "optional" true "args" (concat (list (first .)) $args (rest .)) "env" $.env "volumes" $.volumes) }}
{{- end }}
{{- end }}
