{{/* A certificate of cert-manager for a Service. It has its own issuer unless one is set. */}}
{{- define "flotilla.certificate" }}
{{- if not .issuerRef.name }}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "flotilla.labels" .root | nindent 4 }}
spec:
  selfSigned: {}
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
