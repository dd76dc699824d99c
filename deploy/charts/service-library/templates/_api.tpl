{{/* The Service of the HTTP API and its certificate, for services that have an API. */}}
{{- define "flotilla.api" }}
{{- with .Values.api }}
{{- if .enabled }}
apiVersion: v1
kind: Service
metadata:
  name: {{ $.Chart.Name }}
  namespace: {{ $.Release.Namespace }}
  labels: {{- include "flotilla.labels" $ | nindent 4 }}
spec:
  selector: {{- include "flotilla.selector" $ | nindent 4 }}
  ports:
    - {name: api, port: {{ .port }}, targetPort: api, protocol: TCP}
{{- if eq .certificates "certManager" }}
{{- include "flotilla.certificate" (dict "root" $ "name" (printf "%s-api" $.Chart.Name) "secret" (include "flotilla.apiSecret" $) "issuerRef" .issuerRef "service" $.Chart.Name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
