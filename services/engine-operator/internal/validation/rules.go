package validation

import "github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"

// The rule table lists what users may set in the pod templates of each component
// (reference 2.7; specification 001, "Pod template merge"). It is data. The functions of this package look up
// every field of a template in it; a field that the table does not contain,
// for example of a newer Kubernetes, causes a warning. docs/templates.md shows the table.

// fields classifies the fields of a struct by their JSON names.
type fields struct {
	allowed []string // copied into the pods
	owned   []string // the operator sets it
	unused  []string // no effect; setting it causes a warning
}

// component is a kind of pod whose template users may set.
type component struct {
	// primary is the main container of the component, reserved are the names of
	// additional containers of the operator.
	primary  string
	reserved []string
	// container are the fields of the primary container, env its variables that
	// the operator sets, mountPaths the mount paths of the operator.
	container       fields
	env, mountPaths []string
	// volumes are patterns of the names of the operator's volumes; secret are those
	// with data of Secrets, which sidecars must not mount.
	volumes, secret []string
	// dropped is true when a user's volume with the name of an operator's volume is dropped
	// instead of rejected, like in the earlier operator.
	dropped bool
}

// metadataFields are the fields of a template's metadata.
var metadataFields = fields{
	allowed: []string{"labels", "annotations"},
	owned: []string{
		"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers",
		"managedFields",
	},
}

// reservedPrefix is the prefix of the operator's own labels and annotations.
const reservedPrefix = "firebolt.io/"

// podFields are the fields of a pod, the same for every component.
var podFields = fields{
	allowed: []string{
		"affinity", "containers", "dnsConfig", "dnsPolicy", "hostAliases", "imagePullSecrets", "initContainers",
		"nodeSelector", "os", "overhead", "preemptionPolicy", "priorityClassName", "readinessGates", "resourceClaims",
		"runtimeClassName", "schedulerName", "securityContext", "serviceAccountName", "tolerations",
		"topologySpreadConstraints", "volumes",
	},
	owned: []string{
		"activeDeadlineSeconds", "hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname", "restartPolicy",
		"shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds",
	},
	unused: []string{
		"automountServiceAccountToken", "enableServiceLinks", "ephemeralContainers", "evictionResponders",
		"hostnameOverride", "nodeName", "priority", "resources", "schedulingGates", "schedulingGroup",
		"serviceAccount", "setHostnameAsFQDN",
	},
}

// engineFields are the fields of the container engine.
var engineFields = fields{
	allowed: []string{
		"env", "envFrom", "image", "imagePullPolicy", "lifecycle", "name", "resizePolicy", "resources",
		"securityContext", "terminationMessagePath", "terminationMessagePolicy", "volumeDevices", "volumeMounts",
		"workingDir",
	},
	owned: []string{
		"args", "command", "livenessProbe", "ports", "readinessProbe", "restartPolicy", "startupProbe", "stdin",
		"stdinOnce", "tty",
	},
	unused: []string{"restartPolicyRules"},
}

// serviceFields are the fields of the containers envoy and metadata.
var serviceFields = fields{
	allowed: []string{"image", "imagePullPolicy", "name", "resources"},
	owned: []string{
		"args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "ports", "readinessProbe", "restartPolicy",
		"securityContext", "startupProbe", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy",
		"tty", "volumeDevices", "volumeMounts", "workingDir",
	},
	unused: []string{"resizePolicy", "restartPolicyRules"},
}

// The components.
var (
	engineRules = component{
		primary: names.ContainerEngine, reserved: []string{names.ContainerWeb},
		container:  engineFields,
		env:        []string{"POD_INDEX", "FB_AWS_EC2_METADATA_CLIENT_ENABLED"},
		mountPaths: []string{"/var/lib/firebolt", "/var/lib/firebolt/config.yaml", "/run/firebolt"},
		volumes: []string{
			"data", "engine-config", "runtime", "nginx-writable-dir", "auth-admin", "auth-signing-*", "tls-engine",
		},
		secret:  []string{"auth-admin", "auth-signing-*", "tls-engine"},
		dropped: true,
	}
	gatewayRules = component{
		primary: names.ContainerEnvoy, reserved: []string{names.ContainerWakeAgent},
		container: serviceFields,
		volumes: []string{
			"config", "tmp", "engine-ca", "tls-gateway", "client-ca", "engine-crl", "client-crl", "wake-agent-token",
		},
		secret: []string{"engine-ca", "tls-gateway", "client-ca", "engine-crl", "client-crl", "wake-agent-token"},
	}
	metadataRules = component{
		primary:   names.ContainerMetadata,
		container: serviceFields,
		volumes:   []string{"config", "postgres-creds"},
		secret:    []string{"postgres-creds"},
	}
)

// protectedShapes are patterns of the names of Secrets that belong to any instance or
// engine.
var protectedShapes = []string{
	"*-auth-signing", "*-auth-signing-*", // signing keys of an instance
	"*-g[0-9]*-engine-tls",      // certificate of an engine's generation
	"*-metadata-postgres-creds", // password of an instance's own database
}

// Details of errors, which follow the path in messages to users.
const (
	isOwned      = "is managed by the operator"
	isUnused     = "is not used by the operator"
	isReserved   = "keys that begin with " + reservedPrefix + " are managed by the operator"
	isNameTaken  = "the operator creates a container of this name"
	isPrimary    = "the name of the main container must not be an init container's"
	isDuplicate  = "the name must be unique in the template"
	isClassName  = "the name must be unique, but another container has it"
	isVolume     = "the operator creates a volume of this name"
	isMountPath  = "the operator mounts its own volume at this path"
	isProtected  = "the Secret is managed by the operator or used by the instance and must not be exposed"
	isSecretMade = "the volume holds a Secret of the operator"
)
