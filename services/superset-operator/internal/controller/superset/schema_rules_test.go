package superset_test

import (
	"strconv"
	"strings"
)

// badSpec is a spec that the schema rejects, and the most similar one that it accepts.
type badSpec struct {
	patch string // merged over the valid spec
	want  string // part of the message
	near  string
	// name and nearName are the names of the objects; "x" when empty.
	name, nearName string
}

const (
	staging    = "{environment: Staging, secretKey: null, secretKeyFrom: {name: s, key: k}}\n---\n"
	production = "{environment: Production, secretKey: null, secretKeyFrom: {name: s, key: k}}\n---\n"
	byURI      = "metastore: {uri: x, host: null, database: null, username: null}\n---\n"
	byURIFrom  = "metastore: {uriFrom: {name: s, key: k}, host: null, database: null, username: null}\n---\n"
	clone      = "lifecycle: {clone: {source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}"
)

var badTop = map[string]badSpec{
	"no image":                         {patch: `image: null`, want: "spec.image: Required value", near: `image: {tag: "1"}`},
	"no tag":                           {patch: `image: {tag: ""}`, want: "spec.image.tag", near: `image: {tag: "x"}`},
	"a pull policy of an override":     {patch: `webServer: {image: {pullPolicy: Sometimes}}`, want: "spec.webServer.image.pullPolicy", near: `webServer: {image: {pullPolicy: Never}}`},
	"an unknown environment":           {patch: `environment: Test`, want: "spec.environment", near: `environment: Development`},
	"no secret key":                    {patch: `secretKey: null`, want: "exactly one of spec.secretKey and spec.secretKeyFrom", near: `{secretKey: null, secretKeyFrom: {name: s, key: k}}`},
	"two secret keys":                  {patch: `secretKeyFrom: {name: s, key: k}`, want: "exactly one of spec.secretKey and spec.secretKeyFrom", near: ``},
	"a secret key outside Development": {patch: `environment: Production`, want: "spec.secretKey is only allowed when environment is Development", near: production},
	"a secret key without environment": {patch: `environment: null`, want: "spec.secretKey is only allowed", near: production + `environment: null`},
	"a previous key outside Development": {
		patch: staging + `previousSecretKey: p`, want: "spec.previousSecretKey is only allowed",
		near: staging + `previousSecretKeyFrom: {name: s, key: k}`,
	},
	"two previous keys": {
		patch: `{previousSecretKey: p, previousSecretKeyFrom: {name: s, key: k}}`, want: "mutually exclusive",
		near: `previousSecretKey: p`,
	},
	"negative replicas":         {patch: `replicas: -1`, want: "spec.replicas", near: `replicas: 0`},
	"an account without a name": {patch: `serviceAccount: {create: false}`, want: "serviceAccount.name is required", near: `serviceAccount: {create: false, name: theirs}`},
	"a reference without a key": {
		patch: `{secretKey: null, secretKeyFrom: {name: s}}`, want: "spec.secretKeyFrom.key: Required value",
		near: `{secretKey: null, secretKeyFrom: {name: s, key: k, optional: true}}`,
	},
}

var badMetastore = map[string]badSpec{
	"a database password outside Development": {patch: staging + `metastore: {password: p}`, want: "spec.metastore.password is only allowed", near: staging + `metastore: {passwordFrom: {name: s, key: k}}`},
	"a URI outside Development":               {patch: staging + byURI, want: "spec.metastore.uri is only allowed", near: staging + byURIFrom},
	"a URI and structured fields":             {patch: `metastore: {uri: x}`, want: "mutually exclusive", near: byURI},
	"a URI and a port":                        {patch: byURI + `metastore: {port: 1}`, want: "metastore.uri and the structured", near: byURI + `metastore: {type: MySQL}`},
	"a URI reference and structured fields":   {patch: `metastore: {uriFrom: {name: s, key: k}}`, want: "metastore.uriFrom and the structured", near: byURIFrom},
	"a URI reference and a driver":            {patch: byURIFrom + `metastore: {driver: d}`, want: "metastore.uriFrom and the structured", near: byURIFrom},
	"two URIs":                                {patch: byURI + `metastore: {uriFrom: {name: s, key: k}}`, want: "metastore.uri and metastore.uriFrom", near: byURI},
	"two database passwords":                  {patch: `metastore: {password: p, passwordFrom: {name: s, key: k}}`, want: "metastore.password and metastore.passwordFrom", near: `metastore: {password: p}`},
	"a database without a host":               {patch: `metastore: {host: null}`, want: "require host to be set", near: `metastore: null`},
	"a host without a database":               {patch: `metastore: {database: null}`, want: "requires database and username", near: ``},
	"a host without a user":                   {patch: `metastore: {username: null}`, want: "requires database and username", near: ``},
	"a driver with other characters":          {patch: `metastore: {driver: "x://"}`, want: "spec.metastore.driver", near: `metastore: {driver: asyncpg_2}`},
	"an unknown kind of database":             {patch: `metastore: {type: Oracle}`, want: "spec.metastore.type", near: `metastore: {type: MySQL}`},
	"a created database behind a URI":         {patch: byURI + `metastore: {createDatabase: true}`, want: "createDatabase requires structured metastore", near: byURI + `metastore: {createDatabase: false}`},
	"Valkey without a host":                   {patch: `valkey: {}`, want: "spec.valkey.host: Required value", near: `valkey: {host: v}`},
	"a Valkey password outside Development":   {patch: staging + `valkey: {host: v, password: p}`, want: "spec.valkey.password is only allowed", near: staging + `valkey: {host: v, passwordFrom: {name: s, key: k}}`},
	"two Valkey passwords":                    {patch: `valkey: {host: v, password: p, passwordFrom: {name: s, key: k}}`, want: "valkey.password and valkey.passwordFrom", near: `valkey: {host: v, password: p}`},
	"an unknown certificate check":            {patch: `valkey: {host: v, ssl: {certRequired: maybe}}`, want: "spec.valkey.ssl.certRequired", near: `valkey: {host: v, ssl: {certRequired: none}}`},
}

var badTuning = map[string]badSpec{
	"threads of sync workers":   {patch: `webServer: {gunicorn: {threads: 4, workerClass: sync}}`, want: "workerClass=gthread", near: `webServer: {gunicorn: {threads: 1, workerClass: sync}}`},
	"no workers":                {patch: `webServer: {gunicorn: {workers: 0}}`, want: "spec.webServer.gunicorn.workers", near: `webServer: {gunicorn: {workers: 1}}`},
	"no threads":                {patch: `webServer: {gunicorn: {threads: 0}}`, want: "spec.webServer.gunicorn.threads", near: `webServer: {gunicorn: {threads: 2}}`},
	"a timeout of zero":         {patch: `webServer: {gunicorn: {timeout: 0}}`, want: "spec.webServer.gunicorn.timeout", near: `webServer: {gunicorn: {timeout: 1, keepAlive: 0, maxRequests: 0, maxRequestsJitter: 0, limitRequestLine: 0, limitRequestFieldSize: 0}}`},
	"an unknown worker class":   {patch: `webServer: {gunicorn: {workerClass: tornado}}`, want: "spec.webServer.gunicorn.workerClass", near: `webServer: {gunicorn: {workerClass: eventlet}}`},
	"an unknown log level":      {patch: `webServer: {gunicorn: {logLevel: loud}}`, want: "spec.webServer.gunicorn.logLevel", near: `webServer: {gunicorn: {logLevel: critical}}`},
	"an unknown preset":         {patch: `webServer: {gunicorn: {preset: huge}}`, want: "spec.webServer.gunicorn.preset", near: `webServer: {gunicorn: {preset: disabled}}`},
	"a child limit of threads":  {patch: `celeryWorker: {celery: {pool: threads, maxTasksPerChild: 5}}`, want: "maxTasksPerChild only applies to pool=prefork", near: `celeryWorker: {celery: {pool: threads, maxTasksPerChild: 0}}`},
	"a memory limit of threads": {patch: `celeryWorker: {celery: {pool: gevent, maxMemoryPerChild: 5}}`, want: "maxMemoryPerChild only applies to pool=prefork", near: `celeryWorker: {celery: {maxMemoryPerChild: 5}}`},
	"no concurrency":            {patch: `celeryWorker: {celery: {concurrency: 0}}`, want: "spec.celeryWorker.celery.concurrency", near: `celeryWorker: {celery: {concurrency: 1, prefetchMultiplier: 0, softTimeLimit: 0, timeLimit: 0}}`},
	"an unknown pool":           {patch: `celeryWorker: {celery: {pool: process}}`, want: "spec.celeryWorker.celery.pool", near: `celeryWorker: {celery: {pool: solo}}`},
	"an unknown optimization":   {patch: `celeryWorker: {celery: {optimization: fast}}`, want: "spec.celeryWorker.celery.optimization", near: `celeryWorker: {celery: {optimization: default}}`},
	"a negative time limit":     {patch: `celeryWorker: {celery: {timeLimit: -1}}`, want: "spec.celeryWorker.celery.timeLimit", near: `celeryWorker: {celery: {timeLimit: 1}}`},
	"a negative pool":           {patch: `sqlaEngineOptions: {poolSize: -1}`, want: "spec.sqlaEngineOptions.poolSize", near: `sqlaEngineOptions: {poolSize: 0, maxOverflow: -1, poolRecycle: 0, poolTimeout: 0}`},
}

var badComponents = map[string]badSpec{
	"negative replicas of a component":    {patch: `webServer: {replicas: -1}`, want: "spec.webServer.replicas", near: `webServer: {replicas: 0}`},
	"a websocket server without an image": {patch: `websocketServer: {}`, want: "websocketServer.image.repository", near: `websocketServer: {image: {repository: r}}`},
	"a websocket image without a name":    {patch: `websocketServer: {image: {repository: "", tag: t}}`, want: "websocketServer.image.repository", near: `websocketServer: {image: {repository: r}}`},
	"two websocket configs":               {patch: `websocketServer: {image: {repository: r}, config: {a: 1}, configFrom: {name: s, key: k}}`, want: "websocketServer.config and websocketServer.configFrom", near: `websocketServer: {image: {repository: r}, config: {a: {b: [1]}}}`},
	"a websocket config in Staging":       {patch: staging + `websocketServer: {image: {repository: r}, config: {a: 1}}`, want: "spec.websocketServer.config is only allowed", near: staging + `websocketServer: {image: {repository: r}, configFrom: {name: s, key: k}}`},
	"a node port without a type":          {patch: `webServer: {service: {nodePort: 30001}}`, want: "service.nodePort requires type", near: `webServer: {service: {type: LoadBalancer, nodePort: 30001}}`},
	"a node port that is too small":       {patch: `webServer: {service: {type: NodePort, nodePort: 29999}}`, want: "spec.webServer.service.nodePort", near: `webServer: {service: {type: NodePort, nodePort: 30000}}`},
	"a node port that is too large":       {patch: `webServer: {service: {type: NodePort, nodePort: 32768}}`, want: "spec.webServer.service.nodePort", near: `webServer: {service: {type: NodePort, nodePort: 32767}}`},
	"an unknown type of Service":          {patch: `webServer: {service: {type: ExternalName}}`, want: "spec.webServer.service.type", near: `webServer: {service: {type: ClusterIP}}`},
	"a gateway path of one slash":         {patch: `celeryFlower: {service: {gatewayPath: /}}`, want: "gatewayPath", near: `celeryFlower: {service: {gatewayPath: /monitor/x_y.z-1}}`},
	"a gateway path with a space":         {patch: `celeryFlower: {service: {gatewayPath: "/a b"}}`, want: "gatewayPath", near: `celeryFlower: {service: {gatewayPath: /a}}`},
	"a maximum below the minimum":         {patch: `autoscaling: {minReplicas: 3, maxReplicas: 2}`, want: "autoscaling.maxReplicas must be greater", near: `autoscaling: {minReplicas: 3, maxReplicas: 3}`},
	"autoscaling without a limit":         {patch: `autoscaling: {minReplicas: 1}`, want: "spec.autoscaling.maxReplicas", near: `autoscaling: {maxReplicas: 1}`},
	"autoscaling to too many":             {patch: `autoscaling: {maxReplicas: 101}`, want: "spec.autoscaling.maxReplicas", near: `autoscaling: {maxReplicas: 100}`},
	"autoscaling to zero":                 {patch: `webServer: {autoscaling: {minReplicas: 0, maxReplicas: 1}}`, want: "spec.webServer.autoscaling.minReplicas", near: `webServer: {autoscaling: {minReplicas: 1, maxReplicas: 1}}`},
	"two disruption limits":               {patch: `podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}`, want: "minAvailable and maxUnavailable", near: `podDisruptionBudget: {minAvailable: 50%}`},
}

var badLifecycle = map[string]badSpec{
	"an unknown upgrade mode":            {patch: `lifecycle: {upgradeMode: Never}`, want: "spec.lifecycle.upgradeMode", near: `lifecycle: {upgradeMode: Supervised}`},
	"an admin outside Development":       {patch: staging + `lifecycle: {init: {adminUser: {}}}`, want: "spec.lifecycle.init.adminUser is only allowed", near: `lifecycle: {init: {adminUser: {}}}`},
	"examples outside Development":       {patch: staging + `lifecycle: {init: {loadExamples: false}}`, want: "spec.lifecycle.init.loadExamples is only allowed", near: `lifecycle: {init: {loadExamples: true}}`},
	"a command and an admin":             {patch: `lifecycle: {init: {command: [x], adminUser: {}}}`, want: "init.command is mutually exclusive", near: `lifecycle: {init: {command: [], adminUser: {}}}`},
	"a command and examples":             {patch: `lifecycle: {init: {command: [x], loadExamples: true}}`, want: "init.command is mutually exclusive", near: `lifecycle: {init: {command: [x]}}`},
	"no attempts":                        {patch: `lifecycle: {migrate: {maxRetries: 0}}`, want: "spec.lifecycle.migrate.maxRetries", near: `lifecycle: {migrate: {maxRetries: 1, timeout: 90s}}`},
	"an invalid timeout":                 {patch: `lifecycle: {migrate: {timeout: soon}}`, want: "spec.lifecycle.migrate.timeout", near: `lifecycle: {migrate: {timeout: 0s}}`},
	"a negative timeout":                 {patch: `lifecycle: {migrate: {timeout: -5m}}`, want: "timeout must be a duration such as", near: `lifecycle: {migrate: {timeout: 1h30m}}`},
	"an unknown retention":               {patch: `lifecycle: {podRetention: {policy: Sometimes}}`, want: "spec.lifecycle.podRetention.policy", near: `lifecycle: {podRetention: {policy: Retain}}`},
	"a clone in Production":              {patch: production + clone, want: "Development or Staging", near: staging + clone},
	"a clone in Production by default":   {patch: production + "environment: null\n---\n" + clone, want: "Development or Staging", near: production + "{environment: null, lifecycle: {clone: {disabled: true, source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}}"},
	"a clone with a password in Staging": {patch: staging + `lifecycle: {clone: {source: {host: h, database: d, username: u, password: p}}}`, want: "spec.lifecycle.clone.source.password is only allowed", near: `lifecycle: {clone: {source: {host: h, database: d, username: u, password: p}}}`},
	"a clone without a structured store": {patch: byURI + clone, want: "requires structured metastore", near: byURI + "lifecycle: {clone: {disabled: true, source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}"},
	"a clone without a source":           {patch: `lifecycle: {clone: {}}`, want: "spec.lifecycle.clone.source: Required value", near: clone},
	"a clone without a database":         {patch: `lifecycle: {clone: {source: {host: h, username: u, password: p}}}`, want: "spec.lifecycle.clone.source.database: Required value", near: clone},
	"a clone without a password":         {patch: `lifecycle: {clone: {source: {host: h, database: d, username: u}}}`, want: "one of clone.source.password and clone.source.passwordFrom is required", near: clone},
	"a clone with two passwords":         {patch: clone + "\n---\nlifecycle: {clone: {source: {password: p}}}", want: "clone.source.password and clone.source.passwordFrom are mutually exclusive", near: clone},
	"a bad schedule":                     {patch: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "every day!"}}`, want: "spec.lifecycle.clone.cronSchedule", near: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 3 * * MON-FRI"}}`},
	"a schedule of six fields":           {patch: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 0 3 * * 1"}}`, want: "spec.lifecycle.clone.cronSchedule", near: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "* * * * *"}}`},
	"a schedule that is too long":        {patch: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 3 * * 1` + strings.Repeat(",1", 124) + `"}}`, want: "spec.lifecycle.clone.cronSchedule", near: clone + "\n---\n" + `lifecycle: {clone: {cronSchedule: "0 3 * * 1` + strings.Repeat(",1", 123) + `"}}`},
	"a rotate without a previous key":    {patch: `lifecycle: {rotate: {}}`, want: "spec.lifecycle.rotate requires spec.previousSecretKey", near: `{previousSecretKey: p, lifecycle: {rotate: {}}}`},
	"a disabled rotate needs no key":     {patch: `lifecycle: {rotate: {disabled: false}}`, want: "spec.lifecycle.rotate requires", near: `lifecycle: {rotate: {disabled: true}}`},
}

var badNetworking = map[string]badSpec{
	"an ingress without a web server":  {patch: `{webServer: null, networking: {ingress: {host: h}}}`, want: "spec.networking.ingress requires spec.webServer", near: `networking: {ingress: {host: h}}`},
	"an ingress host without a name":   {patch: `networking: {ingress: {hosts: [{paths: [{path: /}]}]}}`, want: "spec.networking.ingress.hosts[0].host: Required value", near: `networking: {ingress: {hosts: [{host: h, paths: [{}]}]}}`},
	"a gateway without a service":      {patch: `{webServer: null, celeryWorker: {}, networking: {gateway: {gatewayRef: {name: g}}}}`, want: "routable service", near: `{webServer: null, celeryFlower: {}, networking: {gateway: {gatewayRef: {name: g}}}}`},
	"a gateway without a reference":    {patch: `networking: {gateway: {}}`, want: "spec.networking.gateway.gatewayRef: Required value", near: `{webServer: null, mcpServer: {}, networking: {gateway: {gatewayRef: {name: g}}}}`},
	"both gateway and ingress":         {patch: `networking: {gateway: {gatewayRef: {name: g}}, ingress: {host: h}}`, want: "gateway and ingress are mutually exclusive", near: `networking: {gateway: {gatewayRef: {name: g}}}`},
	"a monitor without a web server":   {patch: `{webServer: null, monitoring: {serviceMonitor: {}}}`, want: "spec.monitoring.serviceMonitor requires spec.webServer", near: `{webServer: null, monitoring: {}}`},
	"a path of metrics without a root": {patch: `monitoring: {serviceMonitor: {path: metrics}}`, want: "spec.monitoring.serviceMonitor.path", near: `monitoring: {serviceMonitor: {path: /metrics}}`},
}

// badPairs are invalid combinations of settings that are valid by themselves.
var badPairs = map[string]badSpec{
	"a clone of another type":       {patch: clone + "\n---\nlifecycle: {clone: {source: {type: MySQL}}}", want: "clone.source.type must equal spec.metastore.type", near: clone + "\n---\nlifecycle: {clone: {command: [x], source: {type: MySQL}}}"},
	"a clone of the default type":   {patch: clone + "\n---\nmetastore: {type: MySQL}", want: "clone.source.type must equal spec.metastore.type", near: clone + "\n---\n{metastore: {type: MySQL}, lifecycle: {clone: {source: {type: MySQL}}}}"},
	"a clone with an empty command": {patch: clone + "\n---\nlifecycle: {clone: {command: [], source: {type: MySQL}}}", want: "clone.source.type must equal spec.metastore.type", near: clone + "\n---\nlifecycle: {clone: {disabled: true, source: {type: MySQL}}}"},
	"an enabled clone":              {patch: clone + "\n---\nlifecycle: {disabled: false, clone: {source: {type: MySQL}}}", want: "clone.source.type must equal spec.metastore.type", near: clone + "\n---\nlifecycle: {disabled: true, clone: {source: {type: MySQL}}}"},
	"an ingress without a host":     {patch: `networking: {ingress: {}}`, want: "networking.ingress requires host or hosts", near: `networking: {ingress: {host: h}}`},
	"an ingress with empty hosts":   {patch: `networking: {ingress: {host: "", hosts: []}}`, want: "networking.ingress requires host or hosts", near: `networking: {ingress: {hosts: [{host: h}]}}`},
}

// badNames returns names that are too long for the names of the children, by enabled feature.
func badNames() map[string]badSpec {
	const off = "lifecycle: {disabled: true}\n---\n"
	out := map[string]badSpec{
		"a name with a dot": {name: "a.b", want: "valid DNS label", nearName: "a-b"},
	}
	for enabled, tc := range map[string]struct {
		patch string
		most  int
	}{
		"":                          {off + `webServer: null`, 63},
		"webServer":                 {off, 52},
		"celeryWorker":              {off + `{webServer: null, celeryWorker: {}}`, 49},
		"celeryBeat":                {off + `{webServer: null, celeryBeat: {}}`, 51},
		"celeryFlower":              {off + `{webServer: null, celeryFlower: {}}`, 49},
		"websocketServer":           {off + `{webServer: null, websocketServer: {image: {repository: r}}}`, 46},
		"mcpServer":                 {off + `{webServer: null, mcpServer: {}}`, 52},
		"lifecycle.maintenancePage": {off + `{webServer: null, lifecycle: {maintenancePage: {}}}`, 46},
		"lifecycle.rotate":          {off + `{webServer: null, previousSecretKey: p, lifecycle: {rotate: {}}}`, 49},
		"lifecycle":                 {`webServer: null`, 48},
	} {
		want := "at most " + strconv.Itoa(tc.most) + " characters"
		if enabled != "" {
			want += " when " + enabled + " is enabled"
		}
		out["a name too long for "+enabled] = badSpec{
			patch: tc.patch, want: want, name: strings.Repeat("n", tc.most+1),
			near: tc.patch, nearName: strings.Repeat("n", tc.most),
		}
	}
	return out
}
