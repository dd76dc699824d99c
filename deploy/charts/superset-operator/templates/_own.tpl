{{/* Templates of the Superset operator only. */}}

{{- define "superset-operator.roles" -}}
- role.yaml
{{- end }}

{{- define "superset-operator.userRoles" -}}
- user_roles.yaml
{{- end }}

{{- define "superset-operator.args" }}{{ end }}
{{- define "superset-operator.env" }}
- name: POD_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end }}
{{- define "superset-operator.volumes" }}{{ end }}
{{- define "superset-operator.check" }}{{ end }}

{{- define "superset-operator.notes" }}
Then run a first Superset: docs/installing.md#run-a-first-superset. The CRDs are in the chart superset-operator-crds.
{{- end }}
