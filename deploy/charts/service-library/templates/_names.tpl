{{/* Names, labels and templates that all charts share. */}}

{{- define "flotilla.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{ include "flotilla.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "flotilla.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Cluster-scoped objects of a release that watches some namespaces only have its namespace in
their name, so that releases in other namespaces can coexist. */}}
{{- define "flotilla.clusterScoped" -}}
{{ .name }}{{ if or .root.Values.watchNamespaces .root.Values.watchNamespaceSelector }}-{{ .root.Release.Namespace }}{{ end }}
{{- end }}

{{- define "flotilla.account" -}}
{{ .Values.serviceAccount.name | default .Chart.Name }}
{{- end }}

{{- define "flotilla.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "flotilla.conditionsNamespace" -}}
{{ .Values.conditionsLeaseNamespace | default .Release.Namespace }}
{{- end }}

{{/* Annotations of a hook: its event and its weight. */}}
{{- define "flotilla.hook" -}}
helm.sh/hook: {{ .on }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* The documents of a file, as a JSON object with the list "items". */}}
{{- define "flotilla.documents" -}}
{{- $items := list }}
{{- range regexSplit "(?m)^---\\s*$" (.root.Files.Get .file) -1 }}
{{- $document := fromYaml . }}
{{- if $document.kind }}{{ $items = append $items $document }}{{ end }}
{{- end }}
{{- if not $items }}{{ fail (printf "%s is not in the chart or holds nothing" .file) }}{{ end }}
{{- dict "items" $items | toJson }}
{{- end }}

{{/* Selector that limits a webhook or a policy to the watched namespaces; empty if all are watched. */}}
{{- define "flotilla.namespaceSelector" -}}
{{- with .Values.watchNamespaces }}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: In
    values: {{ toJson . }}
{{- end }}
{{- with .Values.watchNamespaceSelector }}
matchLabels: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The flag that limits a program to the watched namespaces; empty if all are watched. */}}
{{- define "flotilla.namespacesFlag" -}}
{{- with .Values.watchNamespaces }}--watch-namespaces={{ join "," . }}{{ end }}
{{- with .Values.watchNamespaceSelector }}--watch-namespace-selector={{ range $i, $key := keys . | sortAlpha }}{{ if $i }},{{ end }}{{ $key }}={{ get $.Values.watchNamespaceSelector $key }}{{ end }}{{ end }}
{{- end }}
