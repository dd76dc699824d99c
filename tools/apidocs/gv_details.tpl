{{- define "gvDetails" -}}
{{- $gv := . -}}
# API reference: {{ $gv.GroupVersionString }}

Generated from the types by hack/generate.sh. `kubectl explain` shows the same texts. A field without a default is left
to what its description says.

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
