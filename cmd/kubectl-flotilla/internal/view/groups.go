package view

import (
	"fmt"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Titles of the groups.
const (
	Components  = "Components"
	Tasks       = "Tasks"
	Generations = "Generations"
	References  = "References"
)

// groups returns the components and other parts of one kind. Other kinds have none.
func groups(kind contract.Kind, resource, status map[string]any) []Group {
	var out []Group
	add := func(title string, parts []Part) {
		if len(parts) > 0 {
			out = append(out, Group{title, parts})
		}
	}
	switch kind {
	case contract.Superset:
		add(Components, supersetComponents(object(status, "components")))
		add(Tasks, supersetTasks(object(status, "lifecycle")))
	case contract.FireboltEngine:
		add(Generations, engineGenerations(resource, status))
		add(References, engineReferences(object(resource, "spec")))
	case contract.FireboltInstance:
		add(Components, []Part{
			instancePart(status, "metadata", "metadataReady", "metadataEndpoint"),
			instancePart(status, "gateway", "gatewayReady", "gatewayEndpoint"),
		})
	case contract.FireboltEngineClass:
		add(Components, []Part{{Name: "engines", Ready: strconv.FormatInt(integer(status, "boundEngines"), 10)}})
	}
	return out
}

func supersetComponents(all map[string]any) []Part {
	var out []Part
	for _, name := range []string{"webServer", "celeryWorker", "celeryBeat", "celeryFlower", "websocketServer", "mcpServer"} {
		c := object(all, name)
		if c == nil {
			continue
		}
		out = append(out, Part{
			Name: name, State: text(c, "phase"), Ready: text(c, "ready"), Ref: text(c, "ref"), Message: text(c, "message"),
		})
	}
	return out
}

func supersetTasks(all map[string]any) []Part {
	var out []Part
	for _, name := range []string{"clone", "migrate", "rotate", "init"} {
		t := object(all, name)
		if t == nil {
			continue
		}
		part := Part{Name: name, State: text(t, "state"), Ref: text(t, "ref"), Message: text(t, "message")}
		if n := integer(t, "attempts"); n > 0 && part.State != "Complete" {
			part.Ready = fmt.Sprintf("attempt %d", n)
		}
		out = append(out, part)
	}
	return out
}

// engineGenerations returns the serving, the new and the draining generation.
func engineGenerations(resource, status map[string]any) []Part {
	if len(status) == 0 {
		return nil
	}
	active, current := int64(-1), integer(status, "currentGeneration")
	if _, set := status["activeGeneration"]; set {
		active = integer(status, "activeGeneration")
	}
	var out []Part
	if active >= 0 {
		desired := integer(status, "replicas")
		if active == current && text(status, "phase") != "stopped" {
			desired = max(desired, integer(object(resource, "spec"), "replicas"))
		}
		out = append(out, Part{
			Name: generation(active), State: "Serving",
			Ready:   fmt.Sprintf("%d/%d", integer(status, "readyReplicas"), desired),
			Message: text(status, "deployedVersion"),
		})
	}
	if current != active {
		out = append(out, Part{Name: generation(current), State: "Incoming"})
	}
	if _, set := status["drainingGeneration"]; set {
		out = append(out, Part{Name: generation(integer(status, "drainingGeneration")), State: "Outgoing"})
	}
	return out
}

func generation(n int64) string { return "g" + strconv.FormatInt(n, 10) }

func engineReferences(spec map[string]any) []Part {
	var out []Part
	if name := text(spec, "instanceRef"); name != "" {
		out = append(out, Part{Name: string(contract.FireboltInstance) + "/" + name})
	}
	if name := text(spec, "engineClassRef"); name != "" {
		out = append(out, Part{Name: string(contract.FireboltEngineClass) + "/" + name})
	}
	return out
}

func instancePart(status map[string]any, name, readyKey, endpointKey string) Part {
	p := Part{Name: name, State: "NotReady", Message: text(status, endpointKey)}
	if ready, ok := status[readyKey].(bool); ok && ready {
		p.State = "Ready"
	}
	return p
}
