{{/* The Service of the metrics and its ServiceMonitor. */}}
{{- define "flotilla.metrics" }}
{{- if .Values.metrics.enabled }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Chart.Name }}-metrics
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "flotilla.labels" . | nindent 4 }}
    app.kubernetes.io/component: metrics
spec:
  selector: {{- include "flotilla.selector" . | nindent 4 }}
  ports:
    - {name: metrics, port: {{ .Values.metrics.port }}, targetPort: metrics, protocol: TCP}
{{- with .Values.serviceMonitor }}
{{- if .enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $.Chart.Name }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "flotilla.labels" $ | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "flotilla.selector" $ | nindent 6 }}
      app.kubernetes.io/component: metrics
  endpoints:
    - port: metrics
      interval: {{ .interval }}
      # Labels such as namespace and name are the resource's, not the pod's.
      honorLabels: true
      {{- if $.Values.metrics.secure }}
      scheme: https
      bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
      # The service makes this certificate itself; the token is what is checked.
      tlsConfig: {insecureSkipVerify: true}
      {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
