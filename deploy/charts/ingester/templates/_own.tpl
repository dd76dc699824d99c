{{/* Templates of the ingester only. */}}

{{/* "true" if objects are stored. Only then can the finalizer be added to them. */}}
{{- define "ingester.stores" -}}
{{- if or .Values.database.dsnSecret.name .Values.database.host }}true{{ end }}
{{- end }}

{{/* The version of MutatingAdmissionPolicy that is configured and that the cluster serves; else empty. */}}
{{- define "ingester.policy" -}}
{{- $group := "admissionregistration.k8s.io" }}
{{- $wanted := .Values.admissionPolicy }}
{{- if not (include "ingester.stores" .) }}
{{- else if eq $wanted "auto" }}
{{- if .Values.webhooks.enabled }}
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) }}v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) }}v1beta1
{{- end }}
{{- else if ne $wanted "none" }}{{ $wanted }}
{{- end }}
{{- end }}

{{- define "ingester.roles" -}}
- role.yaml
{{- if and .Values.webhooks.enabled (eq .Values.webhooks.certificates "self") }}
- webhook_role.yaml
{{- end }}
{{- end }}

{{- define "ingester.userRoles" -}}
- api_role.yaml
{{- end }}

{{- define "ingester.args" }}
{{- include "ingester.databaseArgs" . }}
- --concurrent-reconciles={{ .Values.concurrentReconciles }}
{{- with .Values.concurrentReconcilesMap }}
- --concurrent-reconciles-map={{ range $i, $kind := keys . | sortAlpha }}{{ if $i }},{{ end }}{{ $kind }}={{ get $.Values.concurrentReconcilesMap $kind }}{{ end }}
{{- end }}
- --requeue-period={{ .Values.requeuePeriod }}
{{- with .Values.requeuePeriodMap }}
- --requeue-period-map={{ range $i, $kind := keys . | sortAlpha }}{{ if $i }},{{ end }}{{ $kind }}={{ get $.Values.requeuePeriodMap $kind }}{{ end }}
{{- end }}
{{- if .Values.evictImmutableKinds }}
- --evict-immutable-kinds
{{- end }}
- --retention={{ .Values.retention }}
- --sweep-interval={{ .Values.sweepInterval }}
{{- if .Values.sweepDryRun }}
- --sweep-dry-run
{{- end }}
{{- end }}

{{/* The database, for the service and its Jobs. */}}
{{- define "ingester.databaseArgs" }}
{{- with .Values.database }}
{{- if .host }}
- --mysql-host={{ .host }}
- --mysql-port={{ .port }}
- --mysql-user={{ .user }}
- --mysql-database={{ .name }}
- --mysql-password-file=/etc/flotilla/database-password/{{ .passwordSecret.key }}
{{- end }}
{{- if .tls.enabled }}
- --mysql-tls
{{- end }}
{{- with .tls.secretName }}
{{- if not $.Values.database.tls.publicCA }}
- --mysql-tls-ca-file=/etc/flotilla/database-tls/ca.crt
{{- end }}
{{- if $.Values.database.tls.clientCertificate }}
- --mysql-tls-cert-file=/etc/flotilla/database-tls/tls.crt
- --mysql-tls-key-file=/etc/flotilla/database-tls/tls.key
{{- end }}
{{- end }}
{{- with .tls.serverName }}
- --mysql-tls-server-name={{ . }}
{{- end }}
{{- if .maxOpenConns }}
- --mysql-max-open-conns={{ .maxOpenConns }}
{{- end }}
{{- if .maxIdleConns }}
- --mysql-max-idle-conns={{ .maxIdleConns }}
{{- end }}
{{- with .connMaxLifetime }}
- --mysql-conn-max-lifetime={{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "ingester.env" }}
{{- with .Values.database.dsnSecret }}
{{- if .name }}
- name: MYSQL_DSN
  valueFrom:
    secretKeyRef: {name: {{ .name }}, key: {{ .key }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "ingester.volumes" }}
{{- with .Values.database }}
{{- if .host }}
- name: database-password
  secret: {secretName: {{ .passwordSecret.name }}}
{{- end }}
{{- with .tls.secretName }}
- name: database-tls
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}
{{- end }}

{{/* Flags, environment and volumes of a command. Its Secrets are optional: the kubelet starts no pod that lacks a
required one, while the command names what it lacks, or does not need it. */}}
{{- define "ingester.commandArgs" }}
{{- include "ingester.databaseArgs" . }}
{{- include "flotilla.busArgs" (dict "as" .Values.bus) }}
{{- with .Values.cluster.name }}
- --cluster-name={{ . }}
{{- end }}
{{- end }}

{{- define "ingester.commandEnv" }}
{{- include "flotilla.optionalEnv" (concat (include "ingester.env" . | fromYamlArray) (include "flotilla.busEnv" (dict "as" .Values.bus) | fromYamlArray)) }}
{{- end }}

{{- define "ingester.commandVolumes" }}
{{- $volumes := list }}
{{- range concat (include "ingester.volumes" . | fromYamlArray) (include "flotilla.busVolumes" (dict "as" .Values.bus) | fromYamlArray) }}
{{- $_ := set .secret "optional" true }}
{{- $volumes = append $volumes . }}
{{- end }}
{{- toYaml $volumes }}
{{- end }}

{{- define "ingester.check" }}
{{- $stores := include "ingester.stores" . }}
{{- with .Values.database }}
{{- if and .dsnSecret.name .host }}{{ fail "database.dsnSecret.name and database.host exclude each other" }}{{ end }}
{{- if .host }}
{{- if not .user }}{{ fail "database.user is required with database.host" }}{{ end }}
{{- if not .name }}{{ fail "database.name is required with database.host" }}{{ end }}
{{- if not .passwordSecret.name }}{{ fail "database.passwordSecret.name is required with database.host" }}{{ end }}
{{- else if or .user .name .passwordSecret.name }}{{ fail "database.user, database.name and database.passwordSecret.name need database.host: without it they are not used" }}
{{- end }}
{{- include "flotilla.checkTLS" (dict "tls" .tls "name" "database.tls") }}
{{- if and (not $stores) (or .tls.enabled .tls.secretName .tls.serverName) }}{{ fail "database.tls needs database.dsnSecret.name or database.host" }}{{ end }}
{{- end }}
{{- $epoch := toDate "2006" "1970" }}
{{- $retention := sub (mustDateModify .Values.retention $epoch).UnixNano $epoch.UnixNano }}
{{- if and (gt $retention 0) (lt $retention 3600000000000) }}{{ fail (printf "retention must be 0s or at least 1h, got %s: the ingester exits otherwise" .Values.retention) }}{{ end }}
{{- if and .Values.webhooks.enabled (not $stores) }}{{ fail "webhooks.enabled needs database.dsnSecret.name or database.host: without it the finalizer is never removed" }}{{ end }}
{{- if and .Values.webhooks.enabled (has .Values.admissionPolicy (list "v1" "v1beta1")) }}{{ fail "webhooks.enabled and admissionPolicy=v1 or v1beta1 exclude each other: both add the finalizer" }}{{ end }}
{{- if and (has .Values.admissionPolicy (list "v1" "v1beta1")) (not $stores) }}{{ fail "admissionPolicy needs database.dsnSecret.name or database.host: without it the finalizer is never removed" }}{{ end }}
{{- if and .Values.api.enabled (not $stores) }}{{ fail "api.enabled needs database.dsnSecret.name or database.host" }}{{ end }}
{{- end }}

{{- define "ingester.notes" }}
{{- if not (include "ingester.stores" .) }}
Nothing is stored yet: name a database.

  helm upgrade {{ .Release.Name }} CHART -n {{ .Release.Namespace }} --reset-then-reuse-values --set database.dsnSecret.name=SECRET
{{- else }}
{{- with include "ingester.policy" . }}
New objects get the finalizer by a MutatingAdmissionPolicy ({{ . }}).
{{- else }}
New objects get the finalizer {{ if .Values.webhooks.enabled }}by the webhook{{ else }}a moment after their creation{{ end }}.
{{- end }}
Verify that cluster and database match:

  kubectl -n {{ .Release.Namespace }} get lease ingester.flotilla.dev
  ingester verify   # in a Job: docs/commands.md
{{- end }}
{{- end }}
