package component

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// Descriptor is one kind of component.
type Descriptor struct {
	// Key is the field's name in spec and status, for example "webServer".
	Key string
	// Name is the word in object names and labels, for example "web-server".
	Name string
	// Port is where the main container listens; 0 for a component without a Service.
	Port int32
	// PortName is the container port's name.
	PortName string
	// Singleton components run one replica, never two at a time, and have no scaling.
	Singleton bool
	// Settings returns the component's part of the spec in a uniform shape; nil when it is not enabled.
	Settings func(*v1alpha1.SupersetSpec) *Settings
	// Slot returns the component's place in the status.
	Slot func(*v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus
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
}

// Names of the components.
const (
	WebServerName    = "web-server"
	CeleryWorkerName = "celery-worker"
	CeleryBeatName   = "celery-beat"
)

// All returns the components in the order in which they are reconciled.
func All() []Descriptor { return []Descriptor{webServer, celeryWorker, celeryBeat} }

// Enabled returns the components that the spec asks for, in order.
func Enabled(spec *v1alpha1.SupersetSpec) []Descriptor {
	var out []Descriptor
	for _, d := range All() {
		if d.Settings(spec) != nil {
			out = append(out, d)
		}
	}
	return out
}

var webServer = Descriptor{
	Key: "webServer", Name: WebServerName, Port: 8088, PortName: "http",
	Settings: func(spec *v1alpha1.SupersetSpec) *Settings {
		c := spec.WebServer
		if c == nil {
			return nil
		}
		s := scalable(&c.ScalableComponentSpec, &c.ComponentSpec)
		s.Config, s.BootstrapScript, s.Service = c.Config, c.BootstrapScript, c.Service
		s.Gunicorn, s.SQLAEngineOptions = c.Gunicorn, c.SQLAEngineOptions
		return s
	},
	Slot: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.WebServer },
}

var celeryWorker = Descriptor{
	Key: "celeryWorker", Name: CeleryWorkerName,
	Settings: func(spec *v1alpha1.SupersetSpec) *Settings {
		c := spec.CeleryWorker
		if c == nil {
			return nil
		}
		s := scalable(&c.ScalableComponentSpec, &c.ComponentSpec)
		s.Config, s.BootstrapScript = c.Config, c.BootstrapScript
		s.Celery, s.SQLAEngineOptions = c.Celery, c.SQLAEngineOptions
		return s
	},
	Slot: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.CeleryWorker },
}

var celeryBeat = Descriptor{
	Key: "celeryBeat", Name: CeleryBeatName, Singleton: true,
	Settings: func(spec *v1alpha1.SupersetSpec) *Settings {
		c := spec.CeleryBeat
		if c == nil {
			return nil
		}
		return &Settings{
			Deployment: c.DeploymentTemplate, Pod: c.PodTemplate, Image: c.Image,
			Config: c.Config, BootstrapScript: c.BootstrapScript, SQLAEngineOptions: c.SQLAEngineOptions,
		}
	},
	Slot: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.CeleryBeat },
}

func scalable(s *v1alpha1.ScalableComponentSpec, c *v1alpha1.ComponentSpec) *Settings {
	return &Settings{
		Deployment: s.DeploymentTemplate, Pod: s.PodTemplate, Replicas: s.Replicas,
		Autoscaling: s.Autoscaling, PodDisruptionBudget: s.PodDisruptionBudget, Image: c.Image,
	}
}
