package component

import "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"

var webServer = Descriptor{
	Key: "webServer", Name: WebServerName, Python: true,
	Port: 8088, PortName: "http", Path: "/",
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
	StatusRef: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.WebServer },
}

var celeryWorker = Descriptor{
	Key: "celeryWorker", Name: CeleryWorkerName, Python: true,
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
	StatusRef: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.CeleryWorker },
}

var celeryBeat = Descriptor{
	Key: "celeryBeat", Name: CeleryBeatName, Python: true, Singleton: true,
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
	StatusRef: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.CeleryBeat },
}

var celeryFlower = Descriptor{
	Key: "celeryFlower", Name: CeleryFlowerName, Python: true,
	Port: 5555, PortName: "http", Path: "/flower",
	Settings: func(spec *v1alpha1.SupersetSpec) *Settings {
		c := spec.CeleryFlower
		if c == nil {
			return nil
		}
		s := scalable(&c.ScalableComponentSpec, &c.ComponentSpec)
		s.Config, s.BootstrapScript, s.Service = c.Config, c.BootstrapScript, c.Service
		return s
	},
	StatusRef: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.CeleryFlower },
}

var mcpServer = Descriptor{
	Key: "mcpServer", Name: MCPServerName, Python: true,
	Port: 8088, PortName: "mcp", Path: "/mcp",
	Settings: func(spec *v1alpha1.SupersetSpec) *Settings {
		c := spec.MCPServer
		if c == nil {
			return nil
		}
		s := scalable(&c.ScalableComponentSpec, &c.ComponentSpec)
		s.Config, s.BootstrapScript, s.Service = c.Config, c.BootstrapScript, c.Service
		s.SQLAEngineOptions = c.SQLAEngineOptions
		return s
	},
	StatusRef: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.MCPServer },
}

var websocketServer = Descriptor{
	Key: "websocketServer", Name: WebsocketServerName,
	Port: 8080, PortName: "ws", Path: "/ws",
	Settings: func(spec *v1alpha1.SupersetSpec) *Settings {
		c := spec.WebsocketServer
		if c == nil {
			return nil
		}
		s := scalable(&c.ScalableComponentSpec, &c.ComponentSpec)
		s.Service, s.JSON, s.JSONFrom = c.Service, c.Config, c.ConfigFrom
		return s
	},
	StatusRef: func(s *v1alpha1.ComponentsStatus) **v1alpha1.ComponentRefStatus { return &s.WebsocketServer },
}

func scalable(s *v1alpha1.ScalableComponentSpec, c *v1alpha1.ComponentSpec) *Settings {
	return &Settings{
		Deployment: s.DeploymentTemplate, Pod: s.PodTemplate, Replicas: s.Replicas,
		Autoscaling: s.Autoscaling, PodDisruptionBudget: s.PodDisruptionBudget, Image: c.Image,
	}
}
