package component

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// Descriptor describes one kind of component.
type Descriptor struct {
	// Key is the name of the field in spec and status, for example "webServer".
	Key string
	// Name is the name of the component in object names and labels, for example "web-server".
	Name string
	// Port is the port of the main container; 0 for a component without a Service.
	Port int32
	// PortName is the name of the container port.
	PortName string
	// Path is the path prefix under which routes reach the component unless its
	// Service overrides it; empty for one that is not routable.
	Path string
	// Python components run Superset's image with a superset_config.py.
	Python bool
	// Singleton components run one replica, never two at a time, and have no scaling.
	Singleton bool
	// Settings returns the component's part of the spec in a uniform shape; nil when it is not enabled.
	Settings func(*v1alpha1.SupersetSpec) *Settings
	// StatusRef returns a pointer to the component's field in the status.
	StatusRef func(*v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus
}

// Settings is one component's part of the spec. Fields that a component does not have are nil.
type Settings struct {
	Deployment          *v1alpha1.DeploymentTemplate
	Pod                 *v1alpha1.PodTemplate
	Replicas            *int32
	Autoscaling         *v1alpha1.AutoscalingSpec
	PodDisruptionBudget *v1alpha1.PDBSpec
	Image               *v1alpha1.ImageOverrideSpec
	Config              *string
	BootstrapScript     *string
	Service             *v1alpha1.ComponentServiceSpec
	Gunicorn            *v1alpha1.GunicornSpec
	Celery              *v1alpha1.CeleryWorkerProcessSpec
	SQLAEngineOptions   *v1alpha1.SQLAlchemyEngineOptionsSpec
	// JSON and JSONFrom hold the config.json of the websocket server.
	JSON     *runtime.RawExtension
	JSONFrom *corev1.SecretKeySelector
}

// Status returns the component's status entry; nil if there is none.
func (d *Descriptor) Status(sup *v1alpha1.Superset) *v1alpha1.ComponentRefStatus {
	if sup.Status.Components == nil {
		return nil
	}
	return *d.StatusRef(sup.Status.Components)
}

// Names of the components.
const (
	WebServerName       = "web-server"
	CeleryWorkerName    = "celery-worker"
	CeleryBeatName      = "celery-beat"
	CeleryFlowerName    = "celery-flower"
	MCPServerName       = "mcp-server"
	WebsocketServerName = "websocket-server"
)

// All returns the components in the order in which they are reconciled.
func All() []Descriptor {
	return []Descriptor{webServer, celeryWorker, celeryBeat, celeryFlower, mcpServer, websocketServer}
}

// Enabled returns the components that the spec enables, in order.
func Enabled(spec *v1alpha1.SupersetSpec) []Descriptor {
	var out []Descriptor
	for _, d := range All() {
		if d.Settings(spec) != nil {
			out = append(out, d)
		}
	}
	return out
}

// Route returns the path prefix under which routes reach the component; empty when
// it is not routable. The web server always answers at the root.
func (d *Descriptor) Route(service *v1alpha1.ComponentServiceSpec) string {
	hasOwnPath := d.Path != "" && d.Name != WebServerName
	if hasOwnPath && service != nil && service.GatewayPath != nil && *service.GatewayPath != "" {
		return *service.GatewayPath
	}
	return d.Path
}
