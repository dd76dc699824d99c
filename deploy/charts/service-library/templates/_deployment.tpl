{{/* The Deployment of the service. It also checks the values. */}}
{{- define "flotilla.deployment" }}
{{- include "flotilla.check" . }}
{{- $volumes := concat (include "flotilla.busVolumes" (dict "as" .Values.bus) | fromYamlArray) (include "flotilla.certificateVolumes" . | fromYamlArray) (include (printf "%s.volumes" .Chart.Name) . | fromYamlArray) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "flotilla.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  {{- if not .Values.leaderElection.enabled }}
  strategy: {type: Recreate, rollingUpdate: null} # null removes the default of an earlier release
  {{- end }}
  selector:
    matchLabels: {{- include "flotilla.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "flotilla.selector" . | nindent 8 }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "flotilla.account" . }}
      automountServiceAccountToken: true
      securityContext: {{- include "flotilla.podSecurity" . | nindent 8 }}
      {{- with include "flotilla.placement" . | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with .Values.topologySpread }}
      topologySpreadConstraints:
        {{- range . }}
        - {{- merge (dict) . (dict "labelSelector" (dict "matchLabels" (include "flotilla.selector" $ | fromYaml))) | toYaml | nindent 10 }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ .Chart.Name }}
          image: {{ include "flotilla.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            {{- include "flotilla.args" . | trim | nindent 12 }}
            {{- with include "flotilla.servingArgs" . | trim }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with include (printf "%s.args" .Chart.Name) . | trim }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with .Values.extraArgs }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          env:
            {{- include "flotilla.env" . | nindent 12 }}
            {{- with include (printf "%s.env" .Chart.Name) . | trim }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with .Values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - {name: health, containerPort: 8081}
            {{- if .Values.metrics.enabled }}
            - {name: metrics, containerPort: {{ .Values.metrics.port }}}
            {{- end }}
            {{- with .Values.webhooks }}
            {{- if .enabled }}
            - {name: webhook, containerPort: {{ .port }}}
            {{- end }}
            {{- end }}
            {{- with .Values.api }}
            {{- if .enabled }}
            - {name: api, containerPort: {{ .port }}}
            {{- end }}
            {{- end }}
          livenessProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 10
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: health}
            periodSeconds: 5
          {{- with .Values.resources }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
          securityContext: {{- include "flotilla.containerSecurity" . | nindent 12 }}
          {{- with $volumes }}
          volumeMounts: {{- include "flotilla.mounts" . | trim | nindent 12 }}
          {{- end }}
      {{- with $volumes }}
      volumes: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
