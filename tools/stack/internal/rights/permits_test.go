package rights

import "testing"

func TestPermitsAsRBACDoes(t *testing.T) {
	pods := Right{Group: "", Resource: "pods", Verb: "get"}
	cases := map[string]struct {
		right   Right
		request Request
		want    bool
	}{
		"itself":                    {pods, Request{Verb: "get", Resource: "pods", Namespace: "a", Name: "b"}, true},
		"another verb":              {pods, Request{Verb: "list", Resource: "pods"}, false},
		"another resource":          {pods, Request{Verb: "get", Resource: "services"}, false},
		"another group":             {pods, Request{Verb: "get", Group: "apps", Resource: "pods"}, false},
		"not its subresource":       {pods, Request{Verb: "get", Resource: "pods/log"}, false},
		"its namespace":             {Right{Namespace: "a", Resource: "pods", Verb: "get"}, Request{Verb: "get", Resource: "pods", Namespace: "a"}, true},
		"another namespace":         {Right{Namespace: "a", Resource: "pods", Verb: "get"}, Request{Verb: "get", Resource: "pods", Namespace: "b"}, false},
		"not all namespaces":        {Right{Namespace: "a", Resource: "pods", Verb: "list"}, Request{Verb: "list", Resource: "pods"}, false},
		"its name":                  {Right{Resource: "pods", Verb: "get", Names: []string{"a", "b"}}, Request{Verb: "get", Resource: "pods", Name: "b"}, true},
		"another name":              {Right{Resource: "pods", Verb: "get", Names: []string{"a"}}, Request{Verb: "get", Resource: "pods", Name: "b"}, false},
		"no name":                   {Right{Resource: "pods", Verb: "list", Names: []string{"a"}}, Request{Verb: "list", Resource: "pods"}, false},
		"every verb":                {Right{Resource: "pods", Verb: "*"}, Request{Verb: "list", Resource: "pods"}, true},
		"every group":               {Right{Group: "*", Resource: "pods", Verb: "get"}, Request{Verb: "get", Group: "x", Resource: "pods"}, true},
		"every resource":            {Right{Resource: "*", Verb: "get"}, Request{Verb: "get", Resource: "pods/log"}, true},
		"one subresource of all":    {Right{Resource: "*/scale", Verb: "get"}, Request{Verb: "get", Resource: "pods/scale"}, true},
		"no other subresource":      {Right{Resource: "*/scale", Verb: "get"}, Request{Verb: "get", Resource: "pods/log"}, false},
		"a path":                    {Right{Resource: "/metrics", Verb: "get"}, Request{Verb: "get", Resource: "/metrics"}, true},
		"no longer path":            {Right{Resource: "/metrics", Verb: "get"}, Request{Verb: "get", Resource: "/metrics/a"}, false},
		"paths that begin alike":    {Right{Resource: "/apis/*", Verb: "get"}, Request{Verb: "get", Resource: "/apis/apps"}, true},
		"every resource is no path": {Right{Group: "*", Resource: "*", Verb: "*"}, Request{Verb: "get", Resource: "/metrics"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.right.permits(c.request); got != c.want {
				t.Errorf("%+v permits %+v: %t", c.right, c.request, got)
			}
		})
	}
}
