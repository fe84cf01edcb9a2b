{{- define "shoal.labels" -}}
app.kubernetes.io/name: shoal
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "shoal.name" -}}
{{ printf "%s-%s" .Release.Name .role | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "shoal.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Variables by name: own ones win over those of all roles. */}}
{{- define "shoal.environment" -}}
{{- $given := dict "SHOAL_DATABASE_URL" (required "set database.url" .Values.database.url) "SHOAL_METRICS__HOST" "0.0.0.0" "SHOAL_METRICS__PORT" "9465"}}
{{- with .Values.registryUrl }}{{ $_ := set $given "SHOAL_REGISTRY_URL" . }}{{ end }}
{{- if ne .role "worker" }}
{{- $_ := set $given "SHOAL_DATABASE_PASSWORD_FILE" "/run/shoal-database/password" }}
{{- $_ := set $given "SHOAL_METRICS__TOKEN_FILE" "/run/shoal/metrics-token" }}
{{- end }}
{{- $all := mergeOverwrite $given (deepCopy .own) (deepCopy .Values.env) (deepCopy (dig .role "env" dict (.Values | merge dict))) }}
{{- range $name, $value := $all }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- if eq .role "worker" }}
# No files, which tasks of a worker could read.
- name: SHOAL_DATABASE_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .Values.database.secret }}, key: password}}
- name: SHOAL_METRICS__TOKEN
  valueFrom: {secretKeyRef: {name: {{ .Values.secret }}, key: metrics-token}}
{{- end }}
{{- end }}

{{- define "shoal.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "shoal.volumes" -}}
- name: tmp
  emptyDir: {}
{{- if ne .role "worker" }}
- name: secret
  secret: {secretName: {{ .Values.secret }}, defaultMode: 0440}
- name: database
  secret: {secretName: {{ .Values.database.secret }}, defaultMode: 0440}
- name: data
  emptyDir: {}
{{- end }}
{{- end }}

{{- define "shoal.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: data, mountPath: /var/lib/shoal}
{{- if ne .role "worker" }}
- {name: secret, mountPath: /run/shoal, readOnly: true}
- {name: database, mountPath: /run/shoal-database, readOnly: true}
{{- end }}
{{- end }}

{{/* The pods of a role; `grace` is how long a stop may take. */}}
{{- define "shoal.pod" -}}
{{- $role := index .Values .role }}
metadata:
  labels:
    {{- include "shoal.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  automountServiceAccountToken: {{ not (empty (dig "serviceAccount" "" $role)) }}
  {{- with dig "serviceAccount" "" $role }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  # The first process of the pod takes care of orphans of tasks.
  shareProcessNamespace: true
  # SIGTERM drains; what is left then goes on elsewhere.
  terminationGracePeriodSeconds: {{ .grace }}
  securityContext: {runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
  {{- with $role.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $role.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $role.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .role }}
      image: {{ include "shoal.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [{{ .role }}]
      env:
        - name: SHOAL_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        - name: SHOAL_HOST
          value: $(POD_IP)
        {{- include "shoal.environment" . | nindent 8 }}
      ports:
        - {name: metrics, containerPort: 9465}
        {{- with .port }}
        - {{ toJson . }}
        {{- end }}
      # A start waits for the database, which no restart brings back.
      startupProbe: {httpGet: {path: /healthz, port: metrics}, periodSeconds: 5, failureThreshold: 60}
      livenessProbe: {httpGet: {path: /healthz, port: metrics}, periodSeconds: 10, timeoutSeconds: 5}
      readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 5, timeoutSeconds: 5}
      {{- with $role.resources }}
      resources: {{ toYaml . | nindent 8 }}
      {{- end }}
      securityContext: {{ include "shoal.security" . | nindent 8 }}
      volumeMounts: {{ include "shoal.mounts" . | nindent 8 }}
  volumes: {{ include "shoal.volumes" . | nindent 4 }}
{{- end }}
