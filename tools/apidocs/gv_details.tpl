{{- define "gvDetails" -}}
{{- $gv := . -}}
# API reference: {{ $gv.GroupVersionString }}

Generated from the types by hack/generate.sh. `kubectl explain` shows the same descriptions. If a field has no default in a
table, its description states what applies when it is unset.

{{ $gv.Doc }}
{{ range $gv.SortedKinds }}
{{ template "type" ($gv.TypeForKind .) }}
{{- end }}
{{- range $gv.SortedTypes }}
{{- if not .GVK }}
{{ template "type" . }}
{{- end }}
{{- end }}
{{- end -}}
