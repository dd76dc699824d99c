{{/* Templates of the engine operator only. */}}

{{- define "engine-operator.roles" -}}
- role.yaml
- leader_role.yaml
{{- if and .Values.metrics.enabled .Values.metrics.secure }}
- metrics_role.yaml
{{- end }}
{{- if .Values.apiserverProxy }}
- proxy_role.yaml
{{- end }}
{{- if and .Values.webhooks.enabled (eq .Values.webhooks.certificates "self") }}
- webhook_role.yaml
{{- end }}
{{- end }}

{{- define "engine-operator.userRoles" -}}
- user_roles.yaml
{{- end }}

{{- define "engine-operator.args" }}
{{- with .Values.images.engine }}
- --engine-image={{ . }}
{{- end }}
{{- with .Values.images.ui }}
- --ui-image={{ . }}
{{- end }}
{{- with .Values.images.metadata }}
- --metadata-image={{ . }}
{{- end }}
{{- with .Values.images.postgres }}
- --postgres-image={{ . }}
{{- end }}
{{- with .Values.images.gateway }}
- --gateway-image={{ . }}
{{- end }}
- --max-concurrent-rollouts={{ .Values.maxConcurrentRollouts }}
{{- with .Values.engineMax.cpu }}
- --engine-max-cpu={{ . }}
{{- end }}
{{- with .Values.engineMax.memory }}
- --engine-max-memory={{ . }}
{{- end }}
{{- with .Values.engineMax.ephemeralStorage }}
- --engine-max-ephemeral-storage={{ . }}
{{- end }}
{{- end }}

{{- define "engine-operator.env" }}
- name: POD_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end }}
{{- define "engine-operator.volumes" }}{{ end }}
{{- define "engine-operator.check" }}{{ end }}

{{- define "engine-operator.notes" }}
Then run a first engine: docs/installing.md#run-a-first-engine. The CRDs are in the chart engine-operator-crds.
{{- end }}
