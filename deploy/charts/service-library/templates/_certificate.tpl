{{/* A certificate of cert-manager for a Service. Unless an issuer is set, the chart has a CA of its own, which keeps its
key: so a renewed certificate is valid for clients that have the CA of the previous one. */}}
{{- define "flotilla.certificate" }}
{{- if not .issuerRef.name }}
{{- include "flotilla.issuer" (merge (dict "name" (printf "%s-root" .name) "spec" "selfSigned: {}") .) }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}-ca
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
spec:
  isCA: true
  commonName: {{ .name }}-ca
  secretName: {{ .name }}-ca
  issuerRef: {kind: Issuer, name: {{ .name }}-root}
  duration: 87600h # ten years
  privateKey: {rotationPolicy: Never}
{{- include "flotilla.issuer" (merge (dict "spec" (printf "ca: {secretName: %s-ca}" .name)) .) }}
{{- end }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
spec:
  secretName: {{ .secret }}
  issuerRef:
    kind: {{ .issuerRef.name | empty | ternary "Issuer" .issuerRef.kind }}
    name: {{ .issuerRef.name | default .name }}
  dnsNames:
    - {{ .service }}.{{ .root.Release.Namespace }}.svc
    - {{ .service }}.{{ .root.Release.Namespace }}.svc.cluster.local
  privateKey: {rotationPolicy: Always}
{{- end }}

{{- define "flotilla.issuer" }}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
spec: {{- .spec | nindent 2 }}
{{- end }}
