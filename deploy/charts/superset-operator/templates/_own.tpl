{{/* Templates of the Superset operator only. */}}

{{- define "own.roles" -}}
- role.yaml
{{- end }}

{{- define "own.userRoles" -}}
- user_roles.yaml
{{- end }}

{{- define "own.args" }}{{ end }}
{{- define "own.env" }}
- name: POD_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end }}
{{- define "own.volumes" }}{{ end }}
{{- define "own.check" }}{{ end }}

{{- define "own.notes" }}
Then run a first Superset: docs/installing.md#run-a-first-superset. The CRDs are in the chart superset-operator-crds.
{{- end }}
