{{/* The notes that helm prints after an install or an upgrade. */}}
{{- define "flotilla.notes" -}}
{{ .Chart.Name }} {{ .Values.image.tag | default .Chart.AppVersion }} watches {{ with .Values.watchNamespaces }}{{ join ", " . }}{{ else }}all namespaces{{ end }}.

  kubectl -n {{ .Release.Namespace }} rollout status deployment/{{ .Chart.Name }}
{{ include "own.notes" . | trim }}
{{- end }}
