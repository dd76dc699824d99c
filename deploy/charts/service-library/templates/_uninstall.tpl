{{/* Hooks of helm uninstall, before and after it deletes the objects of a release.

Helm deletes an object before it creates a hook of the same kind and name. The webhooks and the
service are thus deleted before the finalizers are removed, with the permissions of the user who
uninstalls, so that the Job requires none. */}}

{{/* "true" if the hooks before a deletion are rendered. A list from a cluster is never empty, as it has a kind. A tool
that only renders (helm template, Argo CD) gets none: it would apply the objects of the hooks instead of the real ones. */}}
{{- define "flotilla.hasReleaseHooks" -}}
{{- $release := toString .Values.uninstall.release }}
{{- if or (eq $release "true") (and (eq $release "auto") (lookup "v1" "ServiceAccount" .Release.Namespace "")) }}true{{ end }}
{{- end }}

{{/* Webhook configurations without webhooks, and a service without pods, in place of the real ones. */}}
{{- define "flotilla.stopHooks" }}
{{- with .Values.webhooks }}
{{- if .enabled }}
{{- range (include "flotilla.documents" (dict "root" $ "file" "files/webhook/manifests.yaml") | fromJson).items }}
---
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ include "flotilla.clusterScoped" (dict "root" $ "name" (printf "flotilla-%s" $.Chart.Name)) }}
  labels: {{- include "flotilla.labels" $ | nindent 4 }}
  annotations: {{- include "flotilla.hook" (dict "on" "pre-delete" "weight" -30) | nindent 4 }}
webhooks: []
{{- end }}
{{- end }}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "flotilla.labels" . | nindent 4 }}
  annotations: {{- include "flotilla.hook" (dict "on" "pre-delete" "weight" -20) | nindent 4 }}
spec:
  replicas: 0
  selector:
    matchLabels: {{- include "flotilla.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "flotilla.selector" . | nindent 8 }}
    spec:
      containers:
        - {name: {{ .Chart.Name }}, image: {{ include "flotilla.image" . }}}
{{- end }}

{{/* The Job that runs the command remove-finalizers, with its own ServiceAccount and permissions. It
fails while the service holds its Lease, and is retried. */}}
{{- define "flotilla.releaseHook" }}
{{- $root := .root }}
{{- $name := printf "%s-release" $root.Chart.Name }}
{{- $before := include "flotilla.hook" (dict "on" "pre-delete" "weight" -10) }}
{{- include "flotilla.jobAccount" (dict "root" $root "name" $name "annotations" $before) }}
{{- include "flotilla.roles" (dict "root" $root "file" "files/rbac/operator_role.yaml" "account" $name "annotations" $before) }}
{{- include "flotilla.selectorRole" (dict "root" $root "account" $name "annotations" $before) }}
{{- $args := list "remove-finalizers" (printf "--leader-election-namespace=%s" $root.Release.Namespace) }}
{{- with include "flotilla.namespacesFlag" $root }}{{ $args = append $args . }}{{ end }}
{{- include "flotilla.job" (dict "root" $root "name" $name "account" $name "optional" true "annotations" (include "flotilla.hook" (dict "on" "pre-delete" "weight" 0)) "args" (concat $args .args) "env" .env "volumes" .volumes) }}
{{- end }}

{{/* Objects that the service created at run time: its Leases, and the certificates of its webhooks. */}}
{{- define "flotilla.sweepHooks" }}
{{- $root := .root }}
{{- range .leases }}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: {{ . }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "flotilla.labels" $root | nindent 4 }}
  annotations: {{- include "flotilla.hook" (dict "on" "post-delete" "weight" 0) | nindent 4 }}
{{- end }}
{{- range .secrets }}
{{- if and $root.Values.webhooks.enabled (eq $root.Values.webhooks.certificates "self") }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ . }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "flotilla.labels" $root | nindent 4 }}
  annotations: {{- include "flotilla.hook" (dict "on" "post-delete" "weight" 0) | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
