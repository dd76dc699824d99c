{{/* Parts of the pods of a service and of its Jobs. */}}

{{/* helm upgrade --reuse-values has no defaults of a newer chart. */}}
{{- define "flotilla.podSecurity" -}}
{{ required "podSecurityContext is missing: set single keys to null, and upgrade with --reset-then-reuse-values instead of --reuse-values" .Values.podSecurityContext | toYaml }}
{{- end }}

{{- define "flotilla.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Scheduling of the pods, and their pull Secrets. */}}
{{- define "flotilla.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Settings of the bus: the flags, the environment, the files. "as" holds the values of the
identity: url, urlSecret, credentialsSecret, nkeySecret, tls. */}}
{{- define "flotilla.busArgs" -}}
{{- with .as.url }}
- --nats-url={{ . }}
{{- end }}
{{- with .as.credentialsSecret.name }}
- --nats-creds=/etc/flotilla/bus-credentials/{{ $.as.credentialsSecret.key }}
{{- end }}
{{- with .as.nkeySecret.name }}
- --nats-nkey=/etc/flotilla/bus-nkey/{{ $.as.nkeySecret.key }}
{{- end }}
{{- with .as.tls.secretName }}
{{- if not $.as.tls.publicCA }}
- --nats-ca=/etc/flotilla/bus-tls/ca.crt
{{- end }}
{{- if $.as.tls.clientCertificate }}
- --nats-cert=/etc/flotilla/bus-tls/tls.crt
- --nats-key=/etc/flotilla/bus-tls/tls.key
{{- end }}
{{- end }}
{{- end }}

{{- define "flotilla.busEnv" -}}
{{- with .as.urlSecret }}
{{- if .name }}
- name: NATS_URL
  valueFrom:
    secretKeyRef: {name: {{ .name }}, key: {{ .key }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "flotilla.busVolumes" -}}
{{- with .as.credentialsSecret.name }}
- name: bus-credentials
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .as.nkeySecret.name }}
- name: bus-nkey
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .as.tls.secretName }}
- name: bus-tls
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}

{{/* One mount for each of the volumes of "flotilla.busVolumes" and its siblings: below /etc/flotilla, except the
certificate of the HTTP API. */}}
{{- define "flotilla.mounts" -}}
{{- range . }}
- {name: {{ .name }}, mountPath: {{ eq .name "certs" | ternary "/certs" (printf "/etc/flotilla/%s" .name) }}, readOnly: true}
{{- end }}
{{- end }}

{{/* The flags that all services share. */}}
{{- define "flotilla.args" -}}
{{- with .Values.cluster.name }}
- --cluster-name={{ . }}
{{- end }}
{{- include "flotilla.busArgs" (dict "as" .Values.bus) }}
{{- with include "flotilla.namespacesFlag" . }}
- {{ . }}
{{- end }}
- --conditions-lease-namespace={{ include "flotilla.conditionsNamespace" . }}
{{- with .Values.leaderElection }}
{{- if not .enabled }}
- --leader-elect=false
{{- end }}
{{- with .leaseDuration }}
- --leader-election-lease-duration={{ . }}
{{- end }}
{{- with .renewDeadline }}
- --leader-election-renew-deadline={{ . }}
{{- end }}
{{- with .retryPeriod }}
- --leader-election-retry-period={{ . }}
{{- end }}
{{- end }}
- --metrics-bind-address={{ ternary (printf ":%v" .Values.metrics.port) "0" .Values.metrics.enabled }}
{{- if not .Values.metrics.secure }}
- --metrics-secure=false
{{- end }}
- --health-probe-bind-address=:8081
{{- with .Values.workers }}
- --workers={{ . }}
{{- end }}
- --log-level={{ .Values.log.level }}
- --log-format={{ .Values.log.format }}
{{- end }}

{{- define "flotilla.env" -}}
- name: POD_NAME
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef: {fieldPath: metadata.namespace}
{{- include "flotilla.busEnv" (dict "as" .Values.bus) }}
{{- include "flotilla.otlpEnv" . }}
{{- end }}

{{- define "flotilla.otlpEnv" -}}
{{- with .Values.otlp.endpoint }}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }}}
- {name: OTEL_EXPORTER_OTLP_PROTOCOL, value: {{ $.Values.otlp.protocol }}}
{{- end }}
{{- end }}

{{/* Certificates that are mounted: those of the webhooks and of the HTTP API. */}}
{{- define "flotilla.certificateVolumes" -}}
{{- with .Values.webhooks }}
{{- if and .enabled (ne .certificates "self") }}
- name: webhook-certificates
  secret: {secretName: {{ include "flotilla.webhookSecret" $ }}}
{{- end }}
{{- end }}
{{- with .Values.api }}
{{- if .enabled }}
- name: certs
  secret: {secretName: {{ include "flotilla.apiSecret" $ }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "flotilla.webhookSecret" -}}
{{ .Values.webhooks.secretName | default (printf "%s-webhook-tls" .Chart.Name) }}
{{- end }}

{{- define "flotilla.apiSecret" -}}
{{ .Values.api.secretName | default (printf "%s-api-tls" .Chart.Name) }}
{{- end }}

{{/* The flags of webhooks and HTTP API, for services that have them. */}}
{{- define "flotilla.servingArgs" -}}
{{- with .Values.webhooks }}
- --enable-webhooks={{ .enabled }}
{{- if .enabled }}
- --webhook-bind-address=:{{ .port }}
- --webhook-service={{ $.Chart.Name }}-webhook
- --webhook-configuration={{ include "flotilla.clusterScoped" (dict "root" $ "name" (printf "flotilla-%s" $.Chart.Name)) }}
{{- if ne .certificates "self" }}
- --webhook-cert-dir=/etc/flotilla/webhook-certificates
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.api }}
{{- if .enabled }}
- --api-bind-address=:{{ .port }}
- --api-cert-dir=/certs
{{- with .tokenAudiences }}
- --api-token-audiences={{ join "," . }}
{{- end }}
- --api-max-requests={{ .maxRequests }}
- --api-max-requests-per-user={{ .maxRequestsPerUser }}
{{- if hasKey . "maxStreams" }}
- --api-max-streams={{ .maxStreams }}
- --api-max-streams-per-user={{ .maxStreamsPerUser }}
{{- end }}
- --api-request-timeout={{ .requestTimeout }}
{{- end }}
{{- end }}
{{- end }}
