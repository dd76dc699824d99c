{{/* The ServiceAccount of the pods. */}}
{{- define "flotilla.serviceAccount" }}
{{- if .Values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "flotilla.account" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "flotilla.labels" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
{{- end }}
