{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type -}}
## {{ $type.Name }}

{{ if $type.IsAlias }}_{{ markdownRenderTypeLink $type.UnderlyingType }}_

{{ end -}}
{{ $type.Doc }}
{{- with $type.SortedReferences }}

Used by
{{- range $i, $r := . }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $r }}{{ end }}.
{{- end }}
{{- with index $type.Markers "kubebuilder:validation:XValidation" }}

Rules:
{{ range . }}
- {{ .Message }}
{{- end }}
{{- end }}
{{ if $type.Members }}
| field | description | default | limits |
| --- | --- | --- | --- |
{{ range $type.Members -}}
| `{{ .Name }}` _{{ markdownRenderType .Type }}_ | {{ template "type_members" . }} | {{ markdownRenderDefault .Default }} | {{ template "limits" . }} |
{{ end }}
{{- end }}
{{- with $type.EnumValues }}
| value | meaning |
| --- | --- |
{{ range . -}}
| `{{ .Name }}` | {{ .Doc | replace "\n" " " | markdownRenderFieldDoc }} |
{{ end }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "limits" -}}
{{- $first := true -}}
{{- if not (or (index .Markers "optional") (eq .Name "metadata")) }}required{{ $first = false }}{{ end -}}
{{- range .Validation -}}
{{- if not (hasPrefix "Optional:" .) -}}
{{ if not $first }}<br />{{ end }}{{ $first = false }}{{ . | markdownRenderFieldDoc }}
{{- end -}}
{{- end -}}
{{- end -}}
