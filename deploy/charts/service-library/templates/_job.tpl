{{/* Jobs with the image of the service, their ServiceAccounts and NetworkPolicies. "annotations" are those of a hook. */}}

{{- define "flotilla.jobAccount" }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- include "flotilla.jobNetworkPolicy" . }}
{{- end }}

{{/* Environment variables whose Secrets and ConfigMaps are optional. */}}
{{- define "flotilla.optionalEnv" }}
{{- $env := deepCopy . }}
{{- range $env }}
{{- range $kind, $source := .valueFrom }}
{{- if has $kind (list "secretKeyRef" "configMapKeyRef") }}{{ $_ := set $source "optional" true }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $env }}
{{- end }}

{{/* "token" is false if the Job does not use the API server, "once" is true if a failed pod is not replaced, "optional"
is true if the Job runs without the Secrets of extraEnv. */}}
{{- define "flotilla.job" }}
{{- $extra := .root.Values.extraEnv | default list }}
{{- if .optional }}{{ $extra = include "flotilla.optionalEnv" $extra | fromYamlArray }}{{ end }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- . | nindent 4 }}
  {{- end }}
spec:
  backoffLimit: {{ if .once }}0{{ else }}6{{ end }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ .name }}
        app.kubernetes.io/instance: {{ .root.Release.Name }}
        {{- with (.root.Values.jobs).podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with (.root.Values.jobs).podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      restartPolicy: {{ if .once }}Never{{ else }}OnFailure{{ end }}
      serviceAccountName: {{ .account }}
      automountServiceAccountToken: {{ not (eq .token false) }}
      securityContext: {{- include "flotilla.podSecurity" .root | nindent 8 }}
      {{- with include "flotilla.placement" .root | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "flotilla.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
            - --log-level={{ .root.Values.log.level }}
            - --log-format={{ .root.Values.log.format }}
          {{- /* The last value of a name is used: the Job keeps the credentials of its own settings. */}}
          {{- with concat $extra (.env | default list) }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .root.Values.resources }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
          securityContext: {{- include "flotilla.containerSecurity" .root | nindent 12 }}
          {{- with .volumes }}
          volumeMounts: {{- include "flotilla.mounts" . | trim | nindent 12 }}
          {{- end }}
      {{- with .volumes }}
      volumes: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
