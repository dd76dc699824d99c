{{/* Values that exclude each other. values.schema.json validates single values. */}}
{{- define "flotilla.check" }}
{{- $v := .Values }}
{{- $bus := or $v.bus.url $v.bus.urlSecret.name }}
{{- if and $v.bus.url $v.bus.urlSecret.name }}{{ fail "bus.url and bus.urlSecret.name exclude each other" }}{{ end }}
{{- if and $bus (not $v.cluster.name) }}{{ fail "cluster.name is required with bus.url and bus.urlSecret: it names this cluster on the bus" }}{{ end }}
{{- if and $v.bus.credentialsSecret.name $v.bus.nkeySecret.name }}{{ fail "bus.credentialsSecret.name and bus.nkeySecret.name exclude each other" }}{{ end }}
{{- include "flotilla.checkTLS" (dict "tls" $v.bus.tls "name" "bus.tls") }}
{{- $elsewhere := or $v.command (contains "--nats-url" (toJson $v.extraArgs)) (contains "NATS_URL" (toJson $v.extraEnv)) }}
{{- if and (not $bus) (not $elsewhere) (or $v.bus.credentialsSecret.name $v.bus.nkeySecret.name $v.bus.tls.secretName) }}{{ fail "bus.credentialsSecret, bus.nkeySecret and bus.tls need bus.url or bus.urlSecret.name: without it the service runs standalone" }}{{ end }}
{{- if and (gt (int $v.replicas) 1) (not $v.leaderElection.enabled) }}{{ fail "replicas above 1 need leaderElection.enabled" }}{{ end }}
{{- if and $v.watchNamespaces $v.watchNamespaceSelector }}{{ fail "watchNamespaces and watchNamespaceSelector exclude each other" }}{{ end }}
{{- if and (not $v.serviceAccount.create) (not $v.serviceAccount.name) }}{{ fail "serviceAccount.name is required with serviceAccount.create=false" }}{{ end }}
{{- if and $v.serviceMonitor.enabled (not $v.metrics.enabled) }}{{ fail "serviceMonitor.enabled needs metrics.enabled" }}{{ end }}
{{- if and $v.podDisruptionBudget.minAvailable $v.podDisruptionBudget.maxUnavailable }}{{ fail "podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable exclude each other: to use minAvailable, set podDisruptionBudget.maxUnavailable=\"\"" }}{{ end }}
{{- if and $v.podDisruptionBudget.enabled (not $v.podDisruptionBudget.minAvailable) (not $v.podDisruptionBudget.maxUnavailable) }}{{ fail "podDisruptionBudget.enabled needs podDisruptionBudget.minAvailable or podDisruptionBudget.maxUnavailable" }}{{ end }}
{{- with $v.webhooks }}
{{- if .enabled }}
{{- if and (eq .certificates "secret") (not .secretName) }}{{ fail "webhooks.secretName is required with webhooks.certificates=secret" }}{{ end }}
{{- if and (eq .certificates "secret") (not .caBundle) }}{{ fail "webhooks.caBundle is required with webhooks.certificates=secret" }}{{ end }}
{{- if and (eq .certificates "self") .secretName }}{{ fail "webhooks.secretName is for webhooks.certificates=secret or certManager" }}{{ end }}
{{- if and (ne .certificates "secret") .caBundle }}{{ fail "webhooks.caBundle is for webhooks.certificates=secret" }}{{ end }}
{{- if and (eq .certificates "self") (not $v.leaderElection.enabled) }}{{ fail "webhooks.certificates=self needs leaderElection.enabled" }}{{ end }}
{{- end }}
{{- end }}
{{- with $v.api }}
{{- if and .enabled (eq .certificates "secret") (not .secretName) }}{{ fail "api.secretName is required with api.certificates=secret" }}{{ end }}
{{- end }}
{{- with $v.uninstall }}
{{- if and .release (not $v.rbac.create) }}{{ fail "uninstall.release needs rbac.create, since its Job has roles of its own: with rbac.create=false set uninstall.release=false, and run remove-finalizers yourself when you uninstall" }}{{ end }}
{{- end }}
{{- include (printf "%s.check" .Chart.Name) . }}
{{- end }}

{{- define "flotilla.checkTLS" }}
{{- if and .tls.clientCertificate (not .tls.secretName) }}{{ fail (printf "%s.clientCertificate needs %s.secretName" .name .name) }}{{ end }}
{{- if and .tls.publicCA (not .tls.clientCertificate) }}{{ fail (printf "%s.publicCA is for %s.clientCertificate: without a client certificate, leave %s.secretName empty" .name .name .name) }}{{ end }}
{{- end }}
