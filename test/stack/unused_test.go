package stack_test

import (
	"slices"

	"github.com/flotilla-dev/flotilla/libs/testkit/permissions"
)

// Reasons that several services share.
const (
	listed  = "a watch fills a cache; a list does if the API server cannot stream it, or the stream breaks"
	series  = "a repeated event within minutes patches the first one"
	callers = "the stack scrapes metrics without a token, and the scenarios do not call the HTTP APIs"
	owners  = "required by the admission plugin OwnerReferencesPermissionEnforcement, which is off by default"
	unshown = "used when a cache is stale, or an object that it does not show blocks a write"
	given   = "the instance of the samples has credentials; without them the operator generates them"
	kept    = "the scenarios do not remove running components"
)

// Resources in the notation of `stack permissions`.
var (
	supersetMade = []string{
		"core/configmaps", "core/serviceaccounts", "core/services", "apps/deployments", "autoscaling/horizontalpodautoscalers",
		"policy/poddisruptionbudgets", "networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies",
	}
	supersetCRDs = "apiextensions.k8s.io/customresourcedefinitions named " +
		"httproutes.gateway.networking.k8s.io,servicemonitors.monitoring.coreos.com"
	engineKinds = []string{
		"compute.firebolt.io/fireboltengineclasses", "compute.firebolt.io/fireboltengines", "compute.firebolt.io/fireboltinstances",
	}
	engineOnce  = []string{"core/serviceaccounts", "apps/deployments", "policy/poddisruptionbudgets"}
	reviews     = []string{"authentication.k8s.io/tokenreviews", "authorization.k8s.io/subjectaccessreviews"}
	events      = []string{"events.k8s.io/events"}
	leaders     = []string{"core/events in flotilla-system"}
	aggregation = []string{"coordination.k8s.io/leases in flotilla-system named flotilla-conditions"}
	metadata    = []string{
		"michelangelo.api/clusters", "michelangelo.api/deployments", "michelangelo.api/inferenceservers",
		"michelangelo.api/modelfamilys", "michelangelo.api/models", "michelangelo.api/pipelineruns",
		"michelangelo.api/pipelines", "michelangelo.api/rayclusters", "michelangelo.api/rayjobs",
		"michelangelo.api/revisions", "michelangelo.api/sparkjobs", "michelangelo.api/triggerruns",
	}
	project = []string{"michelangelo.api/projects"}
)

// unused lists the permissions that the scenarios do not use, with the reasons why the services have them. The test fails
// for a permission that is neither used nor listed, and for one that is listed and used or not granted.
var unused = slices.Concat(ofSuperset, ofEngine, ofIngester, ofAggregator)

var ofSuperset = of("superset-operator",
	permissions.Unused{Verbs: "delete", On: supersetMade, Reason: kept},
	permissions.Unused{Verbs: "list", On: slices.Concat(supersetMade, aggregation, []string{"core/pods", "batch/jobs", "superset.apache.org/supersets", supersetCRDs}), Sometimes: true, Reason: listed},
	permissions.Unused{Verbs: "get", On: slices.Concat(supersetMade, aggregation, []string{"batch/jobs", "superset.apache.org/supersets"}), Sometimes: true, Reason: unshown},
	permissions.Unused{Verbs: "patch", On: []string{"batch/jobs"}, Reason: "no Superset was deleted without its objects"},
	permissions.Unused{Verbs: "patch", On: []string{"superset.apache.org/supersets"}, Reason: "no legacy operator has written fields to adopt"},
	permissions.Unused{Verbs: "update", On: []string{"superset.apache.org/supersets/finalizers"}, Reason: owners},
	permissions.Unused{Verbs: "create delete get list patch watch", On: []string{"gateway.networking.k8s.io/httproutes"}, Reason: "the stack has no Gateway API"},
	permissions.Unused{Verbs: "create delete get list patch watch", On: []string{"monitoring.coreos.com/servicemonitors"}, Reason: "the stack has no Prometheus operator"},
	permissions.Unused{Verbs: "patch", On: slices.Concat(events, leaders), Sometimes: true, Reason: series},
	permissions.Unused{Verbs: "list", On: []string{"core/events"}, Sometimes: true, Reason: "used when the pod of a task is missing for seconds"},
	permissions.Unused{Verbs: "create", On: reviews, Reason: callers},
)

var ofEngine = of("engine-operator",
	permissions.Unused{Verbs: "list", On: slices.Concat(engineOnce, engineKinds, aggregation, []string{"core/configmaps", "core/pods", "core/services", "apps/statefulsets"}), Sometimes: true, Reason: listed},
	permissions.Unused{Verbs: "get", On: slices.Concat(engineOnce, aggregation, []string{"core/configmaps", "core/services", "apps/statefulsets"}), Sometimes: true, Reason: unshown},
	permissions.Unused{Verbs: "list", On: []string{"core/events"}, Sometimes: true, Reason: "used when the pods of a StatefulSet are missing"},
	permissions.Unused{Verbs: "get", On: []string{"core/persistentvolumeclaims"}, Reason: given},
	permissions.Unused{Verbs: "patch", On: []string{"core/persistentvolumeclaims"}, Reason: "no database of a legacy operator is adopted"},
	permissions.Unused{Verbs: "create patch", On: []string{"core/secrets"}, Reason: given},
	permissions.Unused{Verbs: "delete", On: []string{"core/pods"}, Reason: "no database pod fails to start"},
	permissions.Unused{Verbs: "update", On: []string{"core/secrets in flotilla-system named engine-operator-webhook-cert"}, Reason: "no certificate expires during the test"},
	permissions.Unused{Verbs: "update", On: []string{"compute.firebolt.io/fireboltengines/finalizers", "compute.firebolt.io/fireboltinstances/finalizers"}, Reason: owners},
	permissions.Unused{Verbs: "patch", On: slices.Concat(events, leaders), Sometimes: true, Reason: series},
	permissions.Unused{Verbs: "create", On: reviews, Reason: callers},
)

var ofIngester = of("ingester",
	permissions.Unused{Verbs: "patch", On: metadata, Reason: "the scenarios delete only a Project"},
	permissions.Unused{Verbs: "delete", On: slices.Concat(metadata, project), Reason: "no object is evicted or deleted by annotation"},
	permissions.Unused{Verbs: "get", On: slices.Concat(metadata, project), Sometimes: true, Reason: unshown},
	permissions.Unused{Verbs: "create", On: []string{"core/configmaps in flotilla-system"}, Sometimes: true, Reason: "no object is evicted"},
	permissions.Unused{Verbs: "update", On: []string{"core/configmaps in flotilla-system named ingester-checkpoint"}, Sometimes: true, Reason: "no object is evicted"},
	permissions.Unused{Verbs: "create patch", On: events, Sometimes: true, Reason: "emitted for objects that cannot be stored"},
	permissions.Unused{
		Verbs: "create patch", On: []string{"events.k8s.io/events in flotilla-system"}, Sometimes: true,
		Reason: "emitted for an older database or an implausible sweep",
	},
	permissions.Unused{Verbs: "patch", On: leaders, Sometimes: true, Reason: series},
	permissions.Unused{Verbs: "create", On: reviews, Reason: callers},
)

var ofAggregator = of("status-aggregator",
	permissions.Unused{Verbs: "get list", On: []string{"compute.firebolt.io/fireboltengines", "compute.firebolt.io/fireboltinstances", "superset.apache.org/supersets"}, Sometimes: true, Reason: listed + "; " + unshown},
	permissions.Unused{Verbs: "list", On: []string{"apiextensions.k8s.io/customresourcedefinitions"}, Sometimes: true, Reason: listed},
	permissions.Unused{Verbs: "patch", On: leaders, Sometimes: true, Reason: series},
	permissions.Unused{Verbs: "create", On: reviews, Reason: callers},
)

func of(service string, explained ...permissions.Unused) []permissions.Unused {
	for i := range explained {
		explained[i].Service = service
	}
	return explained
}
