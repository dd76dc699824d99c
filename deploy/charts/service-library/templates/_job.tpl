{{/* Jobs that Helm runs as hooks, and their ServiceAccounts. */}}

{{- define "flotilla.hookAccount" }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  annotations: {{- .annotations | nindent 4 }}
automountServiceAccountToken: false
{{- end }}

{{/* A Job with the image of the service. "token" is false if it does not use the API server. */}}
{{- define "flotilla.hookJob" }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
  annotations: {{- .annotations | nindent 4 }}
spec:
  backoffLimit: 6
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ .name }}
        app.kubernetes.io/instance: {{ .root.Release.Name }}
    spec:
      restartPolicy: OnFailure
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
          {{- with .env }}
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
