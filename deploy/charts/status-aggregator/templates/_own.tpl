{{/* Templates of the status aggregator only. */}}

{{- define "status-aggregator.roles" -}}
- role.yaml
{{- end }}

{{- define "status-aggregator.userRoles" -}}
- api_role.yaml
{{- end }}

{{- define "status-aggregator.args" }}
{{- if .Values.metrics.perObject }}
- --metrics-per-object
{{- end }}
{{- end }}
{{- define "status-aggregator.env" }}{{ end }}
{{- define "status-aggregator.volumes" }}{{ end }}

{{- define "status-aggregator.check" }}
{{- $bus := .Values.bus }}
{{- if not (or $bus.url $bus.urlSecret.name .Values.command) }}{{ fail "bus.url or bus.urlSecret.name is required: without a bus there is nothing to aggregate" }}{{ end }}
{{- $job := $bus.bootstrapJob }}
{{- if and $job.url $job.urlSecret.name }}{{ fail "bus.bootstrapJob.url and bus.bootstrapJob.urlSecret.name exclude each other" }}{{ end }}
{{- if and (or $job.enabled .Values.command) (not (or $job.url $job.urlSecret.name)) }}{{ fail "bus.bootstrapJob.url or bus.bootstrapJob.urlSecret.name is required with bus.bootstrapJob.enabled and with command" }}{{ end }}
{{- if and $job.credentialsSecret.name $job.nkeySecret.name }}{{ fail "bus.bootstrapJob.credentialsSecret.name and bus.bootstrapJob.nkeySecret.name exclude each other" }}{{ end }}
{{- include "flotilla.checkTLS" (dict "tls" $job.tls "name" "bus.bootstrapJob.tls") }}
{{- end }}

{{- define "status-aggregator.notes" }}
{{- if not .Values.bus.bootstrapJob.enabled }}
Create the streams and the bucket (bus.bootstrapJob.enabled), then verify:

  status-aggregator bus verify   # in a Job: docs/commands.md
{{- end }}
{{- if .Values.api.enabled }}
Status of all resources, by the Service {{ .Chart.Name }}:

{{- $file := "status-ca.crt" }}
{{- if eq .Values.api.certificates "certManager" }}

  kubectl -n {{ .Release.Namespace }} get secret {{ include "flotilla.apiSecret" . }} -o go-template='{{ "{{" }}index .data "ca.crt" | base64decode{{ "}}" }}' > {{ $file }}
{{- else }}
{{- $file = "FILE" }}
{{- end }}
  FLOTILLA_STATUS_CA_FILE={{ $file }} kubectl flotilla page{{ if ne .Release.Namespace "flotilla-system" }} --flotilla-namespace={{ .Release.Namespace }}{{ end }}

The file has the CA of the certificate in the Secret {{ include "flotilla.apiSecret" . }}; with a public CA it is not required.
{{- else }}
The HTTP API and the status page are off: api.enabled turns them on.

  kubectl flotilla status
{{- end }}
{{- end }}
