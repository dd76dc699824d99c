package permissions

import "testing"

func TestPermitsMatchesRBAC(t *testing.T) {
	pods := Permission{Group: "", Resource: "pods", Verb: "get"}
	cases := map[string]struct {
		permission Permission
		request    Request
		want       bool
	}{
		"itself":                    {pods, Request{Verb: "get", Resource: "pods", Namespace: "a", Name: "b"}, true},
		"another verb":              {pods, Request{Verb: "list", Resource: "pods"}, false},
		"another resource":          {pods, Request{Verb: "get", Resource: "services"}, false},
		"another group":             {pods, Request{Verb: "get", Group: "apps", Resource: "pods"}, false},
		"not its subresource":       {pods, Request{Verb: "get", Resource: "pods/log"}, false},
		"its namespace":             {Permission{Namespace: "a", Resource: "pods", Verb: "get"}, Request{Verb: "get", Resource: "pods", Namespace: "a"}, true},
		"another namespace":         {Permission{Namespace: "a", Resource: "pods", Verb: "get"}, Request{Verb: "get", Resource: "pods", Namespace: "b"}, false},
		"not all namespaces":        {Permission{Namespace: "a", Resource: "pods", Verb: "list"}, Request{Verb: "list", Resource: "pods"}, false},
		"its name":                  {Permission{Resource: "pods", Verb: "get", Names: []string{"a", "b"}}, Request{Verb: "get", Resource: "pods", Name: "b"}, true},
		"another name":              {Permission{Resource: "pods", Verb: "get", Names: []string{"a"}}, Request{Verb: "get", Resource: "pods", Name: "b"}, false},
		"no name":                   {Permission{Resource: "pods", Verb: "list", Names: []string{"a"}}, Request{Verb: "list", Resource: "pods"}, false},
		"every verb":                {Permission{Resource: "pods", Verb: "*"}, Request{Verb: "list", Resource: "pods"}, true},
		"every group":               {Permission{Group: "*", Resource: "pods", Verb: "get"}, Request{Verb: "get", Group: "x", Resource: "pods"}, true},
		"every resource":            {Permission{Resource: "*", Verb: "get"}, Request{Verb: "get", Resource: "pods/log"}, true},
		"one subresource of all":    {Permission{Resource: "*/scale", Verb: "get"}, Request{Verb: "get", Resource: "pods/scale"}, true},
		"no other subresource":      {Permission{Resource: "*/scale", Verb: "get"}, Request{Verb: "get", Resource: "pods/log"}, false},
		"a path":                    {Permission{Resource: "/metrics", Verb: "get"}, Request{Verb: "get", Resource: "/metrics"}, true},
		"no longer path":            {Permission{Resource: "/metrics", Verb: "get"}, Request{Verb: "get", Resource: "/metrics/a"}, false},
		"paths that begin alike":    {Permission{Resource: "/apis/*", Verb: "get"}, Request{Verb: "get", Resource: "/apis/apps"}, true},
		"every resource is no path": {Permission{Group: "*", Resource: "*", Verb: "*"}, Request{Verb: "get", Resource: "/metrics"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.permission.permits(c.request); got != c.want {
				t.Errorf("%+v permits %+v: %t", c.permission, c.request, got)
			}
		})
	}
}
