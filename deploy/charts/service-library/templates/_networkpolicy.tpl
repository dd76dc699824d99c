{{/* The NetworkPolicy of the pods. */}}
{{- define "flotilla.networkPolicy" }}
{{- with .Values.networkPolicy }}
{{- if .enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $.Chart.Name }}
  namespace: {{ $.Release.Namespace }}
  labels: {{- include "flotilla.labels" $ | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "flotilla.selector" $ | nindent 6 }}
  policyTypes:
    - Ingress
    {{- if .egress }}
    - Egress
    {{- end }}
  ingress:
    - ports:
        - {port: health}
    {{- if $.Values.metrics.enabled }}
    - ports:
        - {port: metrics}
      {{- with .metricsFrom }}
      from: {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- with $.Values.webhooks }}
    {{- if .enabled }}
    # The API server, which no selector can name.
    - ports:
        - {port: webhook}
    {{- end }}
    {{- end }}
    {{- with $.Values.api }}
    {{- if .enabled }}
    - ports:
        - {port: api}
      {{- with $.Values.networkPolicy.apiFrom }}
      from: {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- end }}
  {{- with .egress }}
  egress: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The egress of a Job, with the annotations of its hook: the policy of the chart does not exist before the first
installation, and its Job may be in a namespace that denies egress by default. */}}
{{- define "flotilla.jobNetworkPolicy" }}
{{- $policy := .root.Values.networkPolicy }}
{{- if and $policy.enabled $policy.egress }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
      app.kubernetes.io/instance: {{ .root.Release.Name }}
  policyTypes:
    - Egress
  egress: {{- toYaml $policy.egress | nindent 4 }}
{{- end }}
{{- end }}
