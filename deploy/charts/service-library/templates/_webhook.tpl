{{/* The Service of the webhooks, its certificate, and their configurations, for services that have webhooks. */}}
{{- define "flotilla.webhook" }}
{{- with .Values.webhooks }}
{{- if .enabled }}
{{- $configuration := include "flotilla.clusterScoped" (dict "root" $ "name" (printf "flotilla-%s" $.Chart.Name)) }}
{{- $service := printf "%s-webhook" $.Chart.Name }}
apiVersion: v1
kind: Service
metadata:
  name: {{ $service }}
  namespace: {{ $.Release.Namespace }}
  labels: {{- include "flotilla.labels" $ | nindent 4 }}
spec:
  selector: {{- include "flotilla.selector" $ | nindent 4 }}
  ports:
    - {name: webhook, port: 443, targetPort: webhook, protocol: TCP}
{{- if eq .certificates "certManager" }}
{{- include "flotilla.certificate" (dict "root" $ "name" $service "secret" (include "flotilla.webhookSecret" $) "issuerRef" .issuerRef "service" $service) }}
{{- end }}
{{- $selector := include "flotilla.namespaceSelector" $ | fromYaml }}
{{- $bundle := .caBundle }}
{{- range (include "flotilla.documents" (dict "root" $ "file" "files/webhook/manifests.yaml") | fromJson).items }}
{{- range .webhooks }}
{{- $_ := set .clientConfig.service "namespace" $.Release.Namespace }}
{{- $_ := set .clientConfig.service "name" $service }}
{{- if $bundle }}{{ $_ := set .clientConfig "caBundle" $bundle }}{{ end }}
{{- if $selector }}{{ $_ := set . "namespaceSelector" $selector }}{{ end }}
{{- end }}
---
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ $configuration }}
  labels: {{- include "flotilla.labels" $ | nindent 4 }}
  {{- if eq $.Values.webhooks.certificates "certManager" }}
  annotations:
    cert-manager.io/inject-ca-from: {{ $.Release.Namespace }}/{{ $service }}
  {{- end }}
webhooks: {{- toYaml .webhooks | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
