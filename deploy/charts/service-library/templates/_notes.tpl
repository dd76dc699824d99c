{{/* The notes that helm prints after an install or an upgrade. */}}
{{- define "flotilla.notes" -}}
{{ .Chart.Name }} {{ .Values.image.tag | default .Chart.AppVersion }} watches {{ with .Values.watchNamespaces }}{{ join ", " . }}{{ else }}{{ with .Values.watchNamespaceSelector }}the namespaces with the labels {{ toJson . }}{{ else }}all namespaces{{ end }}{{ end }}.

  kubectl -n {{ .Release.Namespace }} rollout status deployment/{{ .Chart.Name }}
{{ include (printf "%s.notes" .Chart.Name) . | trim }}
{{- end }}
