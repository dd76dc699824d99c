package controlplane

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Annotations that steer a simulated pod. Set them on a pod template, or on one pod with kubectl annotate.
const (
	// FailAnnotation makes a pod fail for as long as it is there; its value is one of the Fail constants. Removing it
	// lets the pod recover.
	FailAnnotation = "simulate.flotilla.dev/fail"
	// FinishAfterAnnotation, a duration such as 6s, makes a running pod end by itself after that time.
	FinishAfterAnnotation = "simulate.flotilla.dev/finish-after"
	// ExitCodeAnnotation is the exit code of a pod that ends by FinishAfterAnnotation; "0" when absent.
	ExitCodeAnnotation = "simulate.flotilla.dev/exit-code"
	// LogAnnotation is the output of a pod that ends by FinishAfterAnnotation. It becomes the termination message of
	// failed containers whose terminationMessagePolicy is FallbackToLogsOnError.
	LogAnnotation = "simulate.flotilla.dev/log"
	// MessageAnnotation is why the containers of a pod wait that fails with FailImagePull or FailContainerConfig.
	MessageAnnotation = "simulate.flotilla.dev/message"
	// ReadyAfterAnnotation, a duration such as 2s, keeps a new pod Pending for that time.
	ReadyAfterAnnotation = "simulate.flotilla.dev/ready-after"
	// EndAfterAnnotation, a duration such as 2s, keeps a deleted pod there for that time.
	EndAfterAnnotation = "simulate.flotilla.dev/end-after"

	// FailCrashLoop restarts the containers once a second.
	FailCrashLoop = "CrashLoopBackOff"
	// FailImagePull leaves the pod Pending with a Warning event.
	FailImagePull = "ImagePullBackOff"
	// FailContainerConfig leaves the pod Pending because its containers cannot be made from their specs.
	FailContainerConfig = "CreateContainerConfigError"
	// FailNeverReady runs the containers without their ever becoming ready.
	FailNeverReady = "NeverReady"
)

// MissingRepository begins the name, or a path element in the name, of images that cannot be pulled: a pod that asks
// for missing/superset:1 behaves as with FailImagePull, whatever its annotations.
const MissingRepository = "missing/"

const stagesName = "stages.yaml"

// stagePaths are kwok's own default stages, relative to its module. A configuration that names any stage replaces all
// defaults, so they must be passed together with the faults.
var stagePaths = []string{
	"kustomize/stage/node/fast/node-initialize.yaml",
	"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"kustomize/stage/pod/fast/pod-ready.yaml",
	"kustomize/stage/pod/fast/pod-complete.yaml",
	"kustomize/stage/pod/fast/pod-delete.yaml",
}

//go:embed faults.yaml
var faultStages string

func (t Tools) stagesFile() string {
	return t.Path(stagesName)
}

// saveStages takes the default stages from the module of kwok that the programs were built from.
func (t Tools) saveStages(ctx context.Context, module string) error {
	out, err := goCommand(ctx, module, "list", "-m", "-f", "{{.Path}}@{{.Version}}", "sigs.k8s.io/kwok").Output()
	if err != nil {
		return fmt.Errorf("find the version of kwok: %w", err)
	}
	out, err = goCommand(ctx, module, "mod", "download", "-json", strings.TrimSpace(string(out))).Output()
	if err != nil {
		return fmt.Errorf("download the module of kwok: %w", err)
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		return fmt.Errorf("find the module of kwok: %w", err)
	}
	var all bytes.Buffer
	for _, path := range stagePaths {
		data, err := os.ReadFile(filepath.Join(info.Dir, path))
		if err != nil {
			return fmt.Errorf("read a default stage of kwok: %w", err)
		}
		fmt.Fprintf(&all, "---\n%s\n", data)
	}
	part := t.Path("." + stagesName + ".part")
	if err := os.WriteFile(part, all.Bytes(), 0o644); err != nil {
		return fmt.Errorf("keep the stages of kwok: %w", err)
	}
	return os.Rename(part, t.stagesFile())
}

// stages returns kwok's defaults and the faults as one YAML stream.
func (t Tools) stages() (string, error) {
	data, err := os.ReadFile(t.stagesFile())
	if err != nil {
		return "", fmt.Errorf("read the stages of kwok: %w", err)
	}
	var all []string
	for doc := range strings.SplitSeq(string(data), "---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		guarded, err := guardReady(doc)
		if err != nil {
			return "", err
		}
		all = append(all, guarded)
	}
	return strings.Join(append(all, faultStages), "\n---\n"), nil
}

// guardReady keeps kwok from making a pod ready while FailAnnotation is on it or its image is missing. A fault stage
// stops matching after its own patch and would otherwise hand the pod straight back to pod-ready.
func guardReady(doc string) (string, error) {
	var stage map[string]any
	if err := yaml.Unmarshal([]byte(doc), &stage); err != nil {
		return "", fmt.Errorf("parse a stage of kwok: %w", err)
	}
	meta, _ := stage["metadata"].(map[string]any)
	if meta["name"] != "pod-ready" {
		return doc, nil
	}
	spec, _ := stage["spec"].(map[string]any)
	selector, _ := spec["selector"].(map[string]any)
	rules, ok := selector["matchExpressions"].([]any)
	if !ok {
		return "", fmt.Errorf("the pod-ready stage of kwok has no matchExpressions any more")
	}
	selector["matchExpressions"] = append(rules, map[string]any{
		"key":      fmt.Sprintf(".metadata.annotations[%q]", FailAnnotation),
		"operator": "DoesNotExist",
	}, map[string]any{
		"key":      fmt.Sprintf(`[.spec.containers[].image | test("(^|/)%s")] | any`, MissingRepository),
		"operator": "NotIn",
		"values":   []any{"true"},
	})
	out, err := yaml.Marshal(stage)
	return string(out), err
}
