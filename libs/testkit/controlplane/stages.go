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

// Annotations that control a simulated pod. Set them on a pod template, or on one pod with kubectl annotate.
const (
	// FailAnnotation makes a pod fail while the annotation is set; its value is one of the Fail constants. The pod
	// recovers when the annotation is removed.
	FailAnnotation = "simulate.flotilla.dev/fail"
	// FinishAfterAnnotation, a duration such as 6s, makes a running pod terminate after that time.
	FinishAfterAnnotation = "simulate.flotilla.dev/finish-after"
	// ExitCodeAnnotation is the exit code of a pod with FinishAfterAnnotation; "0" when absent.
	ExitCodeAnnotation = "simulate.flotilla.dev/exit-code"
	// LogAnnotation is the output of a pod with FinishAfterAnnotation. It becomes the termination message of failed
	// containers whose terminationMessagePolicy is FallbackToLogsOnError.
	LogAnnotation = "simulate.flotilla.dev/log"
	// MessageAnnotation is the waiting message of the containers of a pod with FailImagePull or FailContainerConfig.
	MessageAnnotation = "simulate.flotilla.dev/message"
	// ReadyAfterAnnotation, a duration such as 2s, keeps a new pod Pending for that time.
	ReadyAfterAnnotation = "simulate.flotilla.dev/ready-after"
	// EndAfterAnnotation, a duration such as 2s, keeps a deleted pod Terminating for that time.
	EndAfterAnnotation = "simulate.flotilla.dev/end-after"

	// FailCrashLoop restarts the containers once a second.
	FailCrashLoop = "CrashLoopBackOff"
	// FailImagePull leaves the pod Pending with a Warning event.
	FailImagePull = "ImagePullBackOff"
	// FailContainerConfig leaves the pod Pending because its containers cannot be created from their specs.
	FailContainerConfig = "CreateContainerConfigError"
	// FailNeverReady runs the containers, but they never become ready.
	FailNeverReady = "NeverReady"
)

// MissingRepository is a path element in the names of images that cannot be pulled: a pod with the image
// missing/superset:1 behaves as with FailImagePull, regardless of its annotations.
const MissingRepository = "missing/"

const stagesName = "stages.yaml"

// stagePaths are the default stages of kwok, relative to its module. A configuration with any stage replaces all
// defaults, so kwok gets them together with the faults.
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

// saveStages copies the default stages from the kwok module that the programs were built from.
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

// guardReady prevents kwok from making a pod ready while it has FailAnnotation or a missing image. A fault stage no longer
// matches after its own patch, so pod-ready would match the pod immediately.
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
