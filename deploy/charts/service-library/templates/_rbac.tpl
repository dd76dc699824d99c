{{/* Roles and bindings. The rules come from files/rbac, which are copies of the service's config/rbac. */}}

{{/* The scope of a rule: "cluster" if it covers cluster-scoped resources, else "namespace". */}}
{{- define "flotilla.scope" -}}
{{- $wide := list "customresourcedefinitions" "mutatingwebhookconfigurations" "namespaces" "subjectaccessreviews" "tokenreviews" "validatingwebhookconfigurations" }}
{{- $found := list }}
{{- if .nonResourceURLs }}{{ $found = append $found "cluster" }}{{ end }}
{{- range .resources }}
{{- $found = append $found (ternary "cluster" "namespace" (has (splitList "/" . | first) $wide)) }}
{{- end }}
{{- $found = uniq $found }}
{{- if ne (len $found) 1 }}{{ fail (printf "a rule mixes resources of the cluster and of namespaces: %v" .resources) }}{{ end }}
{{- first $found }}
{{- end }}

{{/* One role and its binding to the ServiceAccount. */}}
{{- define "flotilla.role" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- . | nindent 4 }}
  {{- end }}
rules: {{- toYaml .rules | nindent 2 }}
{{- if .account }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- . | nindent 4 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
{{- end }}

{{/* The rules of a ClusterRole: in all namespaces, which a selector requires too, or in each watched
namespace, with a separate role for cluster-scoped resources. */}}
{{- define "flotilla.wideRole" }}
{{- $call := . }}
{{- $root := .root }}
{{- if not $root.Values.watchNamespaces }}
{{- include "flotilla.role" (merge (dict "kind" "ClusterRole" "name" (include "flotilla.clusterScoped" (dict "root" $root "name" .document.metadata.name)) "rules" .document.rules) .) }}
{{- else }}
{{- $wide := list }}
{{- $narrow := list }}
{{- range .document.rules }}
{{- if eq (include "flotilla.scope" .) "cluster" }}{{ $wide = append $wide . }}{{ else }}{{ $narrow = append $narrow . }}{{ end }}
{{- end }}
{{- if $wide }}
{{- $name := include "flotilla.clusterScoped" (dict "root" $root "name" .document.metadata.name) }}
{{- include "flotilla.role" (merge (dict "kind" "ClusterRole" "name" $name "rules" $wide) .) }}
{{- end }}
{{- if $narrow }}
{{- range $root.Values.watchNamespaces }}
{{- include "flotilla.role" (merge (dict "kind" "Role" "name" $call.document.metadata.name "namespace" . "rules" $narrow) $call) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The rules of a Role, in the namespace of the release; those about the Lease
flotilla-conditions in the namespace of that Lease. */}}
{{- define "flotilla.ownRole" }}
{{- $lease := include "flotilla.conditionsNamespace" .root }}
{{- $here := list }}
{{- $there := list }}
{{- range .document.rules }}
{{- if and (ne $lease $.root.Release.Namespace) (has "flotilla-conditions" .resourceNames) }}{{ $there = append $there . }}{{ else }}{{ $here = append $here . }}{{ end }}
{{- end }}
{{- include "flotilla.role" (merge (dict "kind" "Role" "name" .document.metadata.name "namespace" .root.Release.Namespace "rules" $here) .) }}
{{- if $there }}
{{- $name := printf "%s-%s" .document.metadata.name .root.Release.Namespace }}
{{- include "flotilla.role" (merge (dict "kind" "Role" "name" $name "namespace" $lease "rules" $there) .) }}
{{- end }}
{{- end }}

{{/* All roles of a file, with an optional suffix of their names, bound to a ServiceAccount; without one they are for
users. Rules about webhook configurations are limited to those of this release. */}}
{{- define "flotilla.roles" }}
{{- $call := . }}
{{- range (include "flotilla.documents" . | fromJson).items }}
{{- $_ := set .metadata "name" (print .metadata.name ($call.suffix | default "")) }}
{{- range .rules }}
{{- if or (has "validatingwebhookconfigurations" .resources) (has "mutatingwebhookconfigurations" .resources) }}
{{- $_ := set . "resourceNames" (list (include "flotilla.clusterScoped" (dict "root" $call.root "name" (printf "flotilla-%s" $call.root.Chart.Name)))) }}
{{- end }}
{{- end }}
{{- if eq .kind "Role" }}
{{- include "flotilla.ownRole" (merge (dict "document" .) $call) }}
{{- else if $call.account }}
{{- include "flotilla.wideRole" (merge (dict "document" .) $call) }}
{{- else }}
{{- $name := include "flotilla.clusterScoped" (dict "root" $call.root "name" .metadata.name) }}
{{- include "flotilla.role" (merge (dict "kind" "ClusterRole" "name" $name "rules" .rules) $call) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The permission to select namespaces by their labels. */}}
{{- define "flotilla.selectorRole" }}
{{- if .root.Values.watchNamespaceSelector }}
{{- $name := include "flotilla.clusterScoped" (dict "root" .root "name" (printf "%s-namespaces" .account)) }}
{{- $rule := dict "apiGroups" (list "") "resources" (list "namespaces") "verbs" (list "list" "watch") }}
{{- include "flotilla.role" (merge (dict "kind" "ClusterRole" "name" $name "rules" (list $rule)) .) }}
{{- end }}
{{- end }}

{{/* The roles of the service and, for users, those that are not bound. */}}
{{- define "flotilla.rbac" }}
{{- if .Values.rbac.create }}
{{- range include (printf "%s.roles" .Chart.Name) . | fromYamlArray }}
{{- include "flotilla.roles" (dict "root" $ "file" (printf "files/rbac/%s" .) "account" (include "flotilla.account" $)) }}
{{- end }}
{{- include "flotilla.selectorRole" (dict "root" . "account" (include "flotilla.account" .)) }}
{{- if .Values.rbac.userRoles }}
{{- range include (printf "%s.userRoles" .Chart.Name) . | fromYamlArray }}
{{- include "flotilla.roles" (dict "root" $ "file" (printf "files/rbac/%s" .) "account" "") }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
