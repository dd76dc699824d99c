package superset_test

import (
	"strconv"
	"strings"
)

// badSpec is a spec that the schema rejects, and the most similar one that it accepts.
type badSpec struct {
	patch string // merged over the valid spec
	want  string // part of the message
	valid string
	// name and validName are the names of the objects; "x" when empty.
	name, validName string
}

const (
	staging    = "{environment: Staging, secretKey: null, secretKeyFrom: {name: s, key: k}}\n---\n"
	production = "{environment: Production, secretKey: null, secretKeyFrom: {name: s, key: k}}\n---\n"
	byURI      = "metastore: {uri: x, host: null, database: null, username: null}\n---\n"
	byURIFrom  = "metastore: {uriFrom: {name: s, key: k}, host: null, database: null, username: null}\n---\n"
	clone      = "lifecycle: {clone: {source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}"
)

var badTop = map[string]badSpec{
	"no image":                         {patch: `image: null`, want: "spec.image: Required value", valid: `image: {tag: "1"}`},
	"no tag":                           {patch: `image: {tag: ""}`, want: "spec.image.tag", valid: `image: {tag: "x"}`},
	"a pull policy of an override":     {patch: `webServer: {image: {pullPolicy: Sometimes}}`, want: "spec.webServer.image.pullPolicy", valid: `webServer: {image: {pullPolicy: Never}}`},
	"an unknown environment":           {patch: `environment: Test`, want: "spec.environment", valid: `environment: Development`},
	"no secret key":                    {patch: `secretKey: null`, want: "exactly one of spec.secretKey and spec.secretKeyFrom", valid: `{secretKey: null, secretKeyFrom: {name: s, key: k}}`},
	"two secret keys":                  {patch: `secretKeyFrom: {name: s, key: k}`, want: "exactly one of spec.secretKey and spec.secretKeyFrom", valid: ``},
	"a secret key outside Development": {patch: `environment: Production`, want: "spec.secretKey is only allowed when environment is Development", valid: production},
	"a secret key without environment": {patch: `environment: null`, want: "spec.secretKey is only allowed", valid: production + `environment: null`},
	"a previous key outside Development": {
		patch: staging + `previousSecretKey: p`, want: "spec.previousSecretKey is only allowed",
		valid: staging + `previousSecretKeyFrom: {name: s, key: k}`,
	},
	"two previous keys": {
		patch: `{previousSecretKey: p, previousSecretKeyFrom: {name: s, key: k}}`, want: "mutually exclusive",
		valid: `previousSecretKey: p`,
	},
	"negative replicas":         {patch: `replicas: -1`, want: "spec.replicas", valid: `replicas: 0`},
	"an account without a name": {patch: `serviceAccount: {create: false}`, want: "serviceAccount.name is required", valid: `serviceAccount: {create: false, name: theirs}`},
	"a reference without a key": {
		patch: `{secretKey: null, secretKeyFrom: {name: s}}`, want: "spec.secretKeyFrom.key: Required value",
		valid: `{secretKey: null, secretKeyFrom: {name: s, key: k, optional: true}}`,
	},
}

var badMetastore = map[string]badSpec{
	"a database password outside Development": {patch: staging + `metastore: {password: p}`, want: "spec.metastore.password is only allowed", valid: staging + `metastore: {passwordFrom: {name: s, key: k}}`},
	"a URI outside Development":               {patch: staging + byURI, want: "spec.metastore.uri is only allowed", valid: staging + byURIFrom},
	"a URI and structured fields":             {patch: `metastore: {uri: x}`, want: "mutually exclusive", valid: byURI},
	"a URI and a port":                        {patch: byURI + `metastore: {port: 1}`, want: "metastore.uri and the structured", valid: byURI + `metastore: {type: MySQL}`},
	"a URI reference and structured fields":   {patch: `metastore: {uriFrom: {name: s, key: k}}`, want: "metastore.uriFrom and the structured", valid: byURIFrom},
	"a URI reference and a driver":            {patch: byURIFrom + `metastore: {driver: d}`, want: "metastore.uriFrom and the structured", valid: byURIFrom},
	"two URIs":                                {patch: byURI + `metastore: {uriFrom: {name: s, key: k}}`, want: "metastore.uri and metastore.uriFrom", valid: byURI},
	"two database passwords":                  {patch: `metastore: {password: p, passwordFrom: {name: s, key: k}}`, want: "metastore.password and metastore.passwordFrom", valid: `metastore: {password: p}`},
	"a database without a host":               {patch: `metastore: {host: null}`, want: "require host to be set", valid: `metastore: null`},
	"a host without a database":               {patch: `metastore: {database: null}`, want: "requires database and username", valid: ``},
	"a host without a user":                   {patch: `metastore: {username: null}`, want: "requires database and username", valid: ``},
	"a driver with other characters":          {patch: `metastore: {driver: "x://"}`, want: "spec.metastore.driver", valid: `metastore: {driver: asyncpg_2}`},
	"an unknown kind of database":             {patch: `metastore: {type: Oracle}`, want: "spec.metastore.type", valid: `metastore: {type: MySQL}`},
	"a created database behind a URI":         {patch: byURI + `metastore: {createDatabase: true}`, want: "createDatabase requires structured metastore", valid: byURI + `metastore: {createDatabase: false}`},
	"Valkey without a host":                   {patch: `valkey: {}`, want: "spec.valkey.host: Required value", valid: `valkey: {host: v}`},
	"a Valkey password outside Development":   {patch: staging + `valkey: {host: v, password: p}`, want: "spec.valkey.password is only allowed", valid: staging + `valkey: {host: v, passwordFrom: {name: s, key: k}}`},
	"two Valkey passwords":                    {patch: `valkey: {host: v, password: p, passwordFrom: {name: s, key: k}}`, want: "valkey.password and valkey.passwordFrom", valid: `valkey: {host: v, password: p}`},
	"an unknown certificate check":            {patch: `valkey: {host: v, ssl: {certRequired: maybe}}`, want: "spec.valkey.ssl.certRequired", valid: `valkey: {host: v, ssl: {certRequired: none}}`},
}

var badTuning = map[string]badSpec{
	"threads of sync workers":   {patch: `webServer: {gunicorn: {threads: 4, workerClass: sync}}`, want: "workerClass=gthread", valid: `webServer: {gunicorn: {threads: 1, workerClass: sync}}`},
	"no workers":                {patch: `webServer: {gunicorn: {workers: 0}}`, want: "spec.webServer.gunicorn.workers", valid: `webServer: {gunicorn: {workers: 1}}`},
	"no threads":                {patch: `webServer: {gunicorn: {threads: 0}}`, want: "spec.webServer.gunicorn.threads", valid: `webServer: {gunicorn: {threads: 2}}`},
	"a timeout of zero":         {patch: `webServer: {gunicorn: {timeout: 0}}`, want: "spec.webServer.gunicorn.timeout", valid: `webServer: {gunicorn: {timeout: 1, keepAlive: 0, maxRequests: 0, maxRequestsJitter: 0, limitRequestLine: 0, limitRequestFieldSize: 0}}`},
	"an unknown worker class":   {patch: `webServer: {gunicorn: {workerClass: tornado}}`, want: "spec.webServer.gunicorn.workerClass", valid: `webServer: {gunicorn: {workerClass: eventlet}}`},
	"an unknown log level":      {patch: `webServer: {gunicorn: {logLevel: loud}}`, want: "spec.webServer.gunicorn.logLevel", valid: `webServer: {gunicorn: {logLevel: critical}}`},
	"an unknown preset":         {patch: `webServer: {gunicorn: {preset: huge}}`, want: "spec.webServer.gunicorn.preset", valid: `webServer: {gunicorn: {preset: disabled}}`},
	"a child limit of threads":  {patch: `celeryWorker: {celery: {pool: threads, maxTasksPerChild: 5}}`, want: "maxTasksPerChild only applies to pool=prefork", valid: `celeryWorker: {celery: {pool: threads, maxTasksPerChild: 0}}`},
	"a memory limit of threads": {patch: `celeryWorker: {celery: {pool: gevent, maxMemoryPerChild: 5}}`, want: "maxMemoryPerChild only applies to pool=prefork", valid: `celeryWorker: {celery: {maxMemoryPerChild: 5}}`},
	"no concurrency":            {patch: `celeryWorker: {celery: {concurrency: 0}}`, want: "spec.celeryWorker.celery.concurrency", valid: `celeryWorker: {celery: {concurrency: 1, prefetchMultiplier: 0, softTimeLimit: 0, timeLimit: 0}}`},
	"an unknown pool":           {patch: `celeryWorker: {celery: {pool: process}}`, want: "spec.celeryWorker.celery.pool", valid: `celeryWorker: {celery: {pool: solo}}`},
	"an unknown optimization":   {patch: `celeryWorker: {celery: {optimization: fast}}`, want: "spec.celeryWorker.celery.optimization", valid: `celeryWorker: {celery: {optimization: default}}`},
	"a negative time limit":     {patch: `celeryWorker: {celery: {timeLimit: -1}}`, want: "spec.celeryWorker.celery.timeLimit", valid: `celeryWorker: {celery: {timeLimit: 1}}`},
	"a negative pool":           {patch: `sqlaEngineOptions: {poolSize: -1}`, want: "spec.sqlaEngineOptions.poolSize", valid: `sqlaEngineOptions: {poolSize: 0, maxOverflow: -1, poolRecycle: 0, poolTimeout: 0}`},
}

var badComponents = map[string]badSpec{
	"negative replicas of a component":    {patch: `webServer: {replicas: -1}`, want: "spec.webServer.replicas", valid: `webServer: {replicas: 0}`},
	"a websocket server without an image": {patch: `websocketServer: {}`, want: "websocketServer.image.repository", valid: `websocketServer: {image: {repository: r}}`},
	"a websocket image without a name":    {patch: `websocketServer: {image: {repository: "", tag: t}}`, want: "websocketServer.image.repository", valid: `websocketServer: {image: {repository: r}}`},
	"two websocket configs":               {patch: `websocketServer: {image: {repository: r}, config: {a: 1}, configFrom: {name: s, key: k}}`, want: "websocketServer.config and websocketServer.configFrom", valid: `websocketServer: {image: {repository: r}, config: {a: {b: [1]}}}`},
	"a websocket config in Staging":       {patch: staging + `websocketServer: {image: {repository: r}, config: {a: 1}}`, want: "spec.websocketServer.config is only allowed", valid: staging + `websocketServer: {image: {repository: r}, configFrom: {name: s, key: k}}`},
	"a node port without a type":          {patch: `webServer: {service: {nodePort: 30001}}`, want: "service.nodePort requires type", valid: `webServer: {service: {type: LoadBalancer, nodePort: 30001}}`},
	"a node port that is too small":       {patch: `webServer: {service: {type: NodePort, nodePort: 29999}}`, want: "spec.webServer.service.nodePort", valid: `webServer: {service: {type: NodePort, nodePort: 30000}}`},
	"a node port that is too large":       {patch: `webServer: {service: {type: NodePort, nodePort: 32768}}`, want: "spec.webServer.service.nodePort", valid: `webServer: {service: {type: NodePort, nodePort: 32767}}`},
	"an unknown type of Service":          {patch: `webServer: {service: {type: ExternalName}}`, want: "spec.webServer.service.type", valid: `webServer: {service: {type: ClusterIP}}`},
	"a gateway path of one slash":         {patch: `celeryFlower: {service: {gatewayPath: /}}`, want: "gatewayPath", valid: `celeryFlower: {service: {gatewayPath: /monitor/x_y.z-1}}`},
	"a gateway path with a space":         {patch: `celeryFlower: {service: {gatewayPath: "/a b"}}`, want: "gatewayPath", valid: `celeryFlower: {service: {gatewayPath: /a}}`},
	"a maximum below the minimum":         {patch: `autoscaling: {minReplicas: 3, maxReplicas: 2}`, want: "autoscaling.maxReplicas must be greater", valid: `autoscaling: {minReplicas: 3, maxReplicas: 3}`},
	"autoscaling without a limit":         {patch: `autoscaling: {minReplicas: 1}`, want: "spec.autoscaling.maxReplicas", valid: `autoscaling: {maxReplicas: 1}`},
	"autoscaling to too many":             {patch: `autoscaling: {maxReplicas: 101}`, want: "spec.autoscaling.maxReplicas", valid: `autoscaling: {maxReplicas: 100}`},
	"autoscaling to zero":                 {patch: `webServer: {autoscaling: {minReplicas: 0, maxReplicas: 1}}`, want: "spec.webServer.autoscaling.minReplicas", valid: `webServer: {autoscaling: {minReplicas: 1, maxReplicas: 1}}`},
	"two disruption limits":               {patch: `podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}`, want: "minAvailable and maxUnavailable", valid: `podDisruptionBudget: {minAvailable: 50%}`},
}

var badLifecycle = map[string]badSpec{
	"an unknown upgrade mode":            {patch: `lifecycle: {upgradeMode: Never}`, want: "spec.lifecycle.upgradeMode", valid: `lifecycle: {upgradeMode: Supervised}`},
	"an admin outside Development":       {patch: staging + `lifecycle: {init: {adminUser: {}}}`, want: "spec.lifecycle.init.adminUser is only allowed", valid: `lifecycle: {init: {adminUser: {}}}`},
	"examples outside Development":       {patch: staging + `lifecycle: {init: {loadExamples: false}}`, want: "spec.lifecycle.init.loadExamples is only allowed", valid: `lifecycle: {init: {loadExamples: true}}`},
	"a command and an admin":             {patch: `lifecycle: {init: {command: [x], adminUser: {}}}`, want: "init.command is mutually exclusive", valid: `lifecycle: {init: {command: [], adminUser: {}}}`},
	"a command and examples":             {patch: `lifecycle: {init: {command: [x], loadExamples: true}}`, want: "init.command is mutually exclusive", valid: `lifecycle: {init: {command: [x]}}`},
	"no attempts":                        {patch: `lifecycle: {migrate: {maxRetries: 0}}`, want: "spec.lifecycle.migrate.maxRetries", valid: `lifecycle: {migrate: {maxRetries: 1, timeout: 90s}}`},
	"an invalid timeout":                 {patch: `lifecycle: {migrate: {timeout: soon}}`, want: "spec.lifecycle.migrate.timeout", valid: `lifecycle: {migrate: {timeout: 0s}}`},
	"a negative timeout":                 {patch: `lifecycle: {migrate: {timeout: -5m}}`, want: "timeout must be a duration such as", valid: `lifecycle: {migrate: {timeout: 1h30m}}`},
	"an unknown retention":               {patch: `lifecycle: {podRetention: {policy: Sometimes}}`, want: "spec.lifecycle.podRetention.policy", valid: `lifecycle: {podRetention: {policy: Retain}}`},
	"a clone in Production":              {patch: production + clone, want: "Development or Staging", valid: staging + clone},
	"a clone in Production by default":   {patch: production + "environment: null\n---\n" + clone, want: "Development or Staging", valid: production + "{environment: null, lifecycle: {clone: {disabled: true, source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}}"},
	"a clone with a password in Staging": {patch: staging + `lifecycle: {clone: {source: {host: h, database: d, username: u, password: p}}}`, want: "spec.lifecycle.clone.source.password is only allowed", valid: `lifecycle: {clone: {source: {host: h, database: d, username: u, password: p}}}`},
	"a clone without a structured store": {patch: byURI + clone, want: "requires structured metastore", valid: byURI + "lifecycle: {clone: {disabled: true, source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}"},
	"a clone without a source":           {patch: `lifecycle: {clone: {}}`, want: "spec.lifecycle.clone.source: Required value", valid: clone},
	"a clone without a database":         {patch: `lifecycle: {clone: {source: {host: h, username: u, password: p}}}`, want: "spec.lifecycle.clone.source.database: Required value", valid: clone},
	"a clone without a password":         {patch: `lifecycle: {clone: {source: {host: h, database: d, username: u}}}`, want: "one of clone.source.password and clone.source.passwordFrom is required", valid: clone},
	"a clone with two passwords":         {patch: clone + "\n---\nlifecycle: {clone: {source: {password: p}}}", want: "clone.source.password and clone.source.passwordFrom are mutually exclusive", valid: clone},
	"a bad schedule":                     {patch: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "every day!"}}`, want: "spec.lifecycle.clone.cronSchedule", valid: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 3 * * MON-FRI"}}`},
	"a schedule of six fields":           {patch: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 0 3 * * 1"}}`, want: "spec.lifecycle.clone.cronSchedule", valid: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "* * * * *"}}`},
	"a schedule that is too long":        {patch: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 3 * * 1` + strings.Repeat(",1", 124) + `"}}`, want: "spec.lifecycle.clone.cronSchedule", valid: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 3 * * 1` + strings.Repeat(",1", 123) + `"}}`},
	"a rotate without a previous key":    {patch: `lifecycle: {rotate: {}}`, want: "spec.lifecycle.rotate requires spec.previousSecretKey", valid: `{previousSecretKey: p, lifecycle: {rotate: {}}}`},
	"a disabled rotate needs no key":     {patch: `lifecycle: {rotate: {disabled: false}}`, want: "spec.lifecycle.rotate requires", valid: `lifecycle: {rotate: {disabled: true}}`},
}

var badNetworking = map[string]badSpec{
	"an ingress without a web server":  {patch: `{webServer: null, networking: {ingress: {host: h}}}`, want: "spec.networking.ingress requires spec.webServer", valid: `networking: {ingress: {host: h}}`},
	"an ingress host without a name":   {patch: `networking: {ingress: {hosts: [{paths: [{path: /}]}]}}`, want: "spec.networking.ingress.hosts[0].host: Required value", valid: `networking: {ingress: {hosts: [{host: h, paths: [{}]}]}}`},
	"a gateway without a service":      {patch: `{webServer: null, celeryWorker: {}, networking: {gateway: {gatewayRef: {name: g}}}}`, want: "routable service", valid: `{webServer: null, celeryFlower: {}, networking: {gateway: {gatewayRef: {name: g}}}}`},
	"a gateway without a reference":    {patch: `networking: {gateway: {}}`, want: "spec.networking.gateway.gatewayRef: Required value", valid: `{webServer: null, mcpServer: {}, networking: {gateway: {gatewayRef: {name: g}}}}`},
	"both gateway and ingress":         {patch: `networking: {gateway: {gatewayRef: {name: g}}, ingress: {host: h}}`, want: "gateway and ingress are mutually exclusive", valid: `networking: {gateway: {gatewayRef: {name: g}}}`},
	"a monitor without a web server":   {patch: `{webServer: null, monitoring: {serviceMonitor: {}}}`, want: "spec.monitoring.serviceMonitor requires spec.webServer", valid: `{webServer: null, monitoring: {}}`},
	"a path of metrics without a root": {patch: `monitoring: {serviceMonitor: {path: metrics}}`, want: "spec.monitoring.serviceMonitor.path", valid: `monitoring: {serviceMonitor: {path: /metrics}}`},
}

// badPairs are invalid combinations of settings that are valid by themselves.
var badPairs = map[string]badSpec{
	"a clone of another type":       {patch: clone + "\n---\nlifecycle: {clone: {source: {type: MySQL}}}", want: "clone.source.type must equal spec.metastore.type", valid: clone + "\n---\nlifecycle: {clone: {command: [x], source: {type: MySQL}}}"},
	"a clone of the default type":   {patch: clone + "\n---\nmetastore: {type: MySQL}", want: "clone.source.type must equal spec.metastore.type", valid: clone + "\n---\n{metastore: {type: MySQL}, lifecycle: {clone: {source: {type: MySQL}}}}"},
	"a clone with an empty command": {patch: clone + "\n---\nlifecycle: {clone: {command: [], source: {type: MySQL}}}", want: "clone.source.type must equal spec.metastore.type", valid: clone + "\n---\nlifecycle: {clone: {disabled: true, source: {type: MySQL}}}"},
	"an enabled clone":              {patch: clone + "\n---\nlifecycle: {disabled: false, clone: {source: {type: MySQL}}}", want: "clone.source.type must equal spec.metastore.type", valid: clone + "\n---\nlifecycle: {disabled: true, clone: {source: {type: MySQL}}}"},
	"an ingress without a host":     {patch: `networking: {ingress: {}}`, want: "networking.ingress requires host or hosts", valid: `networking: {ingress: {host: h}}`},
	"an ingress with empty hosts":   {patch: `networking: {ingress: {host: "", hosts: []}}`, want: "networking.ingress requires host or hosts", valid: `networking: {ingress: {hosts: [{host: h}]}}`},
}

// badNames returns names that are too long for the names of the children, by enabled feature.
func badNames() map[string]badSpec {
	const lifecycleDisabled = "lifecycle: {disabled: true}\n---\n"
	out := map[string]badSpec{
		"a name with a dot": {name: "a.b", want: "valid DNS label", validName: "a-b"},
	}
	for enabled, tc := range map[string]struct {
		patch string
		most  int
	}{
		"":                          {lifecycleDisabled + `webServer: null`, 63},
		"webServer":                 {lifecycleDisabled, 52},
		"celeryWorker":              {lifecycleDisabled + `{webServer: null, celeryWorker: {}}`, 49},
		"celeryBeat":                {lifecycleDisabled + `{webServer: null, celeryBeat: {}}`, 51},
		"celeryFlower":              {lifecycleDisabled + `{webServer: null, celeryFlower: {}}`, 49},
		"websocketServer":           {lifecycleDisabled + `{webServer: null, websocketServer: {image: {repository: r}}}`, 46},
		"mcpServer":                 {lifecycleDisabled + `{webServer: null, mcpServer: {}}`, 52},
		"lifecycle.maintenancePage": {lifecycleDisabled + `{webServer: null, lifecycle: {maintenancePage: {}}}`, 46},
		"lifecycle.rotate":          {lifecycleDisabled + `{webServer: null, previousSecretKey: p, lifecycle: {rotate: {}}}`, 49},
		"lifecycle":                 {`webServer: null`, 48},
	} {
		want := "at most " + strconv.Itoa(tc.most) + " characters"
		if enabled != "" {
			want += " when " + enabled + " is enabled"
		}
		out["a name too long for "+enabled] = badSpec{
			patch: tc.patch, want: want, name: strings.Repeat("n", tc.most+1),
			valid: tc.patch, validName: strings.Repeat("n", tc.most),
		}
	}
	return out
}
