package superset_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// valid is a spec that every case below changes into something that is not.
const valid = `
environment: Development
image: {tag: "6.0.0"}
secretKey: s
metastore: {host: db, database: d, username: u}
webServer: {}
`

func TestSamplesAreAccepted(t *testing.T) {
	c := cluster.Get(t)
	cl, namespace := c.Client(t, scheme(t)), c.Namespace(t)
	paths, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(doc, &obj.Object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			obj.SetNamespace(namespace)
			strict := client.WithFieldValidation(cl, "Strict")
			if err := strict.Create(t.Context(), obj); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func TestBadSpecsAreRefusedAndTheMessageNamesTheField(t *testing.T) {
	cases := map[string]struct {
		name  string // of the object; "x" when empty
		patch string // merged over the valid spec; null removes
		want  string
	}{
		"no image":                            {patch: `image: null`, want: "spec.image: Required value"},
		"no tag":                              {patch: `image: {tag: ""}`, want: "spec.image.tag"},
		"an unknown environment":              {patch: `environment: Test`, want: "spec.environment"},
		"no secret key":                       {patch: `secretKey: null`, want: "exactly one of spec.secretKey and spec.secretKeyFrom"},
		"two secret keys":                     {patch: `secretKeyFrom: {name: s, key: k}`, want: "exactly one of spec.secretKey and spec.secretKeyFrom"},
		"a secret key outside Development":    {patch: `environment: Production`, want: "spec.secretKey is only allowed when environment is Development"},
		"a password outside Development":      {patch: staging + `metastore: {password: p}`, want: "spec.metastore.password is only allowed"},
		"a URI outside Development":           {patch: staging + `metastore: {uri: x, host: null, database: null, username: null}`, want: "spec.metastore.uri is only allowed"},
		"a Valkey password outside":           {patch: staging + `valkey: {host: v, password: p}`, want: "spec.valkey.password is only allowed"},
		"an admin outside Development":        {patch: staging + `lifecycle: {init: {adminUser: {}}}`, want: "spec.lifecycle.init.adminUser is only allowed"},
		"examples outside Development":        {patch: staging + `lifecycle: {init: {loadExamples: false}}`, want: "spec.lifecycle.init.loadExamples is only allowed"},
		"a websocket config outside":          {patch: staging + `websocketServer: {image: {repository: r}, config: {a: 1}}`, want: "spec.websocketServer.config is only allowed"},
		"an ingress without a web server":     {patch: `{webServer: null, networking: {ingress: {host: h}}}`, want: "spec.networking.ingress requires spec.webServer"},
		"a gateway without a service":         {patch: `{webServer: null, networking: {gateway: {gatewayRef: {name: g}}}}`, want: "routable service"},
		"a monitor without a web server":      {patch: `{webServer: null, monitoring: {serviceMonitor: {}}}`, want: "spec.monitoring.serviceMonitor requires spec.webServer"},
		"both gateway and ingress":            {patch: `networking: {gateway: {gatewayRef: {name: g}}, ingress: {host: h}}`, want: "gateway and ingress are mutually exclusive"},
		"a clone in Production":               {patch: production + clone, want: "Development or Staging"},
		"a clone with a password in Staging":  {patch: staging + `lifecycle: {clone: {source: {host: h, database: d, username: u, password: p}}}`, want: "spec.lifecycle.clone.source.password is only allowed"},
		"a clone without a structured store":  {patch: "metastore: {uri: x, host: null, database: null, username: null}\n" + clone, want: "requires structured metastore"},
		"a clone without a password":          {patch: `lifecycle: {clone: {source: {host: h, database: d, username: u}}}`, want: "one of clone.source.password and clone.source.passwordFrom is required"},
		"a bad schedule":                      {patch: `lifecycle: {clone: {cronSchedule: "every day!", source: {host: h, database: d, username: u, password: p}}}`, want: "spec.lifecycle.clone.cronSchedule"},
		"a rotate without a previous key":     {patch: `lifecycle: {rotate: {}}`, want: "spec.lifecycle.rotate requires spec.previousSecretKey"},
		"a previous key outside Development":  {patch: staging + `previousSecretKey: p`, want: "spec.previousSecretKey is only allowed"},
		"two previous keys":                   {patch: `{previousSecretKey: p, previousSecretKeyFrom: {name: s, key: k}}`, want: "mutually exclusive"},
		"a command and an admin":              {patch: `lifecycle: {init: {command: [x], adminUser: {}}}`, want: "init.command is mutually exclusive"},
		"no attempts":                         {patch: `lifecycle: {migrate: {maxRetries: 0}}`, want: "spec.lifecycle.migrate.maxRetries"},
		"an unknown upgrade mode":             {patch: `lifecycle: {upgradeMode: Never}`, want: "spec.lifecycle.upgradeMode"},
		"two ways to the database":            {patch: `metastore: {uri: x}`, want: "mutually exclusive"},
		"two database passwords":              {patch: `metastore: {password: p, passwordFrom: {name: s, key: k}}`, want: "metastore.password and metastore.passwordFrom"},
		"a database without a host":           {patch: `metastore: {host: null}`, want: "require host to be set"},
		"a host without a database":           {patch: `metastore: {database: null}`, want: "requires database and username"},
		"a driver that is more than a name":   {patch: `metastore: {driver: "x://"}`, want: "spec.metastore.driver"},
		"a created database behind a URI":     {patch: `metastore: {uri: x, host: null, database: null, username: null, createDatabase: true}`, want: "createDatabase requires structured metastore"},
		"threads of workers that have none":   {patch: `webServer: {gunicorn: {threads: 4, workerClass: sync}}`, want: "workerClass=gthread"},
		"no workers":                          {patch: `webServer: {gunicorn: {workers: 0}}`, want: "spec.webServer.gunicorn.workers"},
		"an unknown preset":                   {patch: `webServer: {gunicorn: {preset: huge}}`, want: "spec.webServer.gunicorn.preset"},
		"a child limit of threads":            {patch: `celeryWorker: {celery: {pool: threads, maxTasksPerChild: 5}}`, want: "only applies to pool=prefork"},
		"a memory limit of threads":           {patch: `celeryWorker: {celery: {pool: gevent, maxMemoryPerChild: 5}}`, want: "only applies to pool=prefork"},
		"a websocket server without an image": {patch: `websocketServer: {}`, want: "websocketServer.image.repository"},
		"a node port without a type":          {patch: `webServer: {service: {nodePort: 30001}}`, want: "service.nodePort requires type"},
		"a node port out of range":            {patch: `webServer: {service: {type: NodePort, nodePort: 80}}`, want: "spec.webServer.service.nodePort"},
		"a gateway path of one slash":         {patch: `celeryFlower: {service: {gatewayPath: /}}`, want: "gatewayPath"},
		"fewer at most than at least":         {patch: `autoscaling: {minReplicas: 3, maxReplicas: 2}`, want: "autoscaling.maxReplicas must be greater"},
		"autoscaling without a limit":         {patch: `autoscaling: {minReplicas: 1}`, want: "spec.autoscaling.maxReplicas"},
		"two disruption limits":               {patch: `podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}`, want: "minAvailable and maxUnavailable"},
		"an account that is not named":        {patch: `serviceAccount: {create: false}`, want: "serviceAccount.name is required"},
		"negative replicas":                   {patch: `webServer: {replicas: -1}`, want: "spec.webServer.replicas"},
		"a name with a dot":                   {name: "a.b", want: "valid DNS label"},
		"a name too long for tasks":           {name: strings.Repeat("n", 49), want: "at most 48 characters when lifecycle is enabled"},
		"a name too long for the web server":  {name: strings.Repeat("n", 53), patch: `lifecycle: {disabled: true}`, want: "at most 52 characters when spec.webServer is enabled"},
		"a name too long for a websocket":     {name: strings.Repeat("n", 47), patch: `websocketServer: {image: {repository: r}}`, want: "at most 46 characters when spec.websocketServer is enabled"},
		"a name too long for maintenance":     {name: strings.Repeat("n", 47), patch: `lifecycle: {maintenancePage: {}}`, want: "at most 46 characters when spec.lifecycle.maintenancePage is enabled"},
	}
	c := cluster.Get(t)
	cl, namespace := c.Client(t, scheme(t)), c.Namespace(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, namespace, tc.name, tc.patch)
			err := cl.Create(t.Context(), obj)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want a refusal with %q, got %v", tc.want, err)
			}
		})
	}
	if err := cl.Create(t.Context(), object(t, namespace, "", "")); err != nil {
		t.Errorf("the spec that all cases start from is not valid: %v", err)
	}
}

const (
	staging    = "{environment: Staging, secretKey: null, secretKeyFrom: {name: s, key: k}}\n---\n"
	production = "{environment: Production, secretKey: null, secretKeyFrom: {name: s, key: k}}\n---\n"
	clone      = "lifecycle: {clone: {source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}"
)

// object is the valid spec with the patches, which --- separates, merged over it.
func object(t *testing.T, namespace, name, patches string) *unstructured.Unstructured {
	t.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(valid), &spec); err != nil {
		t.Fatal(err)
	}
	for _, patch := range strings.Split(patches, "\n---\n") {
		over := map[string]any{}
		if err := yaml.Unmarshal([]byte(patch), &over); err != nil {
			t.Fatalf("%v in %q", err, patch)
		}
		merge(spec, over)
	}
	if name == "" {
		name = "x"
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetAPIVersion("superset.apache.org/v1alpha1")
	obj.SetKind("Superset")
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func merge(into, over map[string]any) {
	for key, value := range over {
		child, isMap := value.(map[string]any)
		existing, hasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && hasMap:
			merge(existing, child)
		default:
			into[key] = value
		}
	}
}
