{{/* The name of every object. An alias in an umbrella chart is the name of the chart: two of them have different names. */}}
{{- define "gatehouse.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if eq .Chart.Name "gatehouse" }}{{ .Release.Name }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "gatehouse.selector" -}}
app.kubernetes.io/name: gatehouse
app.kubernetes.io/instance: {{ include "gatehouse.fullname" . }}
{{- end }}

{{- define "gatehouse.release" -}}
app.kubernetes.io/instance: {{ include "gatehouse.fullname" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "gatehouse.labels" -}}
app.kubernetes.io/name: gatehouse
{{ include "gatehouse.release" . }}
{{- end }}

{{- define "gatehouse.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "gatehouse.host" -}}
{{ regexReplaceAll ":[0-9]+$" (urlParse .Values.env.PUBLIC_URL).host "" }}
{{- end }}

{{- define "gatehouse.serviceAccountName" -}}
{{- with .Values.serviceAccount -}}
{{- .name | default (.create | ternary (include "gatehouse.fullname" $) "") }}
{{- end }}
{{- end }}

{{/* A map without its nulls: in an umbrella chart, Helm keeps those that are to remove a default. */}}
{{- define "gatehouse.withoutNulls" -}}
{{- $kept := dict }}
{{- range $name, $value := . }}
{{- if not (kindIs "invalid" $value) }}{{- $_ := set $kept $name $value }}{{- end }}
{{- end }}
{{- toYaml $kept }}
{{- end }}

{{/* What the broker's pods and the doctor's pod share. */}}
{{- define "gatehouse.pod" -}}
# The broker never calls the cluster's API.
automountServiceAccountToken: false
{{- with include "gatehouse.serviceAccountName" . }}
serviceAccountName: {{ . }}
{{- end }}
# Otherwise a Service named "ops" or "port" would set OPS_PORT or the like to a URL.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "hostAliases" "dnsPolicy" "dnsConfig" "initContainers" }}
{{- with get $.Values $name }}
{{ $name }}: {{- kindIs "string" . | ternary (printf " %s" (toString .)) (toYaml . | nindent 2) }}
{{- end }}
{{- end }}
securityContext: {{- include "gatehouse.withoutNulls" .Values.podSecurityContext | nindent 2 }}
volumes:
  - name: secrets
    secret:
      secretName: {{ .Values.existingSecret }}
      defaultMode: 288 # 0440, as a number that all YAML parsers read alike
{{- if .Values.tunables }}
  - name: tunables
    configMap:
      name: {{ include "gatehouse.fullname" . }}-tunables
{{- end }}
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "gatehouse.container" -}}
image: {{ include "gatehouse.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
env:
{{- $env := dict "OPS_HOST" "0.0.0.0" | merge (deepCopy .Values.env) }}
{{- $_ := set $env "PORT" "8080" }}
{{- $_ := set $env "OPS_PORT" "9090" }}
{{- $secrets := list "AUTHN_API_TOKEN" "REDIS_URL" "SECRET_KEYS" "OPS_TOKEN" }}
{{- if .Values.env.PAM_BASE_URL }}
{{- $secrets = concat $secrets (list "PAM_KEY_ID" "PAM_KEY_SECRET") }}
{{- end }}
{{- range concat $secrets .Values.optionalSecrets }}
{{- $_ := set $env (printf "%s_FILE" .) (printf "/run/secrets/gatehouse/%s" .) }}
{{- end }}
{{- if .Values.tunables }}
{{- $_ := set $env "CONFIG_FILE" "/etc/gatehouse/config.json" }}
{{- end }}
{{- range $name, $value := $env }}
  - name: {{ $name }}
    value: {{ $value | toString | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "gatehouse.withoutNulls" .Values.securityContext | nindent 2 }}
volumeMounts:
  - name: secrets
    mountPath: /run/secrets/gatehouse
    readOnly: true
{{- if .Values.tunables }}
  - name: tunables
    mountPath: /etc/gatehouse
    readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Gatehouse's own paths, on the portal's own origin, and how each is matched. */}}
{{- define "gatehouse.paths" -}}
/api/v1: Prefix
/login: Prefix
/sso: Prefix
/signin: Prefix
/bound-session: Prefix
/hooks/org-events: Exact
/.well-known/gatehouse-jwks.json: Exact
{{- end }}
