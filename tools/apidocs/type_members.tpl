{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
Name, namespace, labels and annotations.
{{- else -}}
{{ .Doc | replace "\n" " " | markdownRenderFieldDoc }}
{{- end -}}
{{- end -}}
