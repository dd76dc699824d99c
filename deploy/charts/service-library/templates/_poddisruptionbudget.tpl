{{/* The PodDisruptionBudget of the pods. */}}
{{- define "flotilla.podDisruptionBudget" }}
{{- with .Values.podDisruptionBudget }}
{{- if .enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $.Chart.Name }}
  namespace: {{ $.Release.Namespace }}
  labels: {{- include "flotilla.labels" $ | nindent 4 }}
spec:
  {{- with .minAvailable }}
  minAvailable: {{ . }}
  {{- end }}
  {{- with .maxUnavailable }}
  maxUnavailable: {{ . }}
  {{- end }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "flotilla.selector" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}
