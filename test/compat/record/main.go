// Command record writes the data of a release against which later releases are tested:
// messages, entries and objects of a running stack, the schemas, and the conditions computed
// from each observation. docs/compatibility.md describes when to run it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/test/compat/frozen"
)

func main() {
	version := flag.String("version", "", "release to record, such as v0.1.0")
	url := flag.String("nats", os.Getenv("NATS_URL"), "NATS server of the stack; NATS_URL in the environment")
	out := flag.String("out", "testdata", "directory in which the version's directory is created")
	schemas := flag.String("schemas", "../../libs/contract/schemas", "directory of the current schemas")
	flag.Parse()
	if err := run(*version, *url, *out, *schemas); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(version, url, out, schemas string) error {
	if version == "" || url == "" {
		return errors.New("-version and -nats (NATS_URL) are required")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := filepath.Join(out, version)
	for _, kind := range []string{frozen.Messages, frozen.Schemas, frozen.Objects} {
		if err := os.MkdirAll(filepath.Join(dir, kind), 0o755); err != nil {
			return err
		}
	}
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	for stream, family := range map[string]string{
		contract.StreamObservations: frozen.Observation, contract.StreamHeartbeats: frozen.Heartbeat,
		contract.StreamLifecycle: frozen.Lifecycle, contract.StreamChanges: frozen.Change,
	} {
		if err := messages(ctx, js, stream, family, filepath.Join(dir, frozen.Messages)); err != nil {
			return fmt.Errorf("%s: %w", stream, err)
		}
	}
	if err := entries(ctx, js, filepath.Join(dir, frozen.Messages)); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, frozen.Schemas), os.DirFS(schemas)); err != nil {
		return err
	}
	if err := objects(ctx, filepath.Join(dir, frozen.Objects)); err != nil {
		return err
	}
	return folds(frozen.Release{Dir: dir})
}

// messages writes the last message of each subject.
func messages(ctx context.Context, js jetstream.JetStream, stream, family, dir string) error {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		m, err := s.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return err
		}
		if len(m.Data) == 0 {
			continue // a deletion marker
		}
		name, err := fileOf(family, subject)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(m.Data, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fileOf(family, subject string) (string, error) {
	if family == frozen.Heartbeat {
		_, observer, err := contract.ParseHeartbeatSubject(subject)
		return frozen.Name(family, observer) + ".json", err
	}
	_, ref, last, err := contract.ParseObjectSubject(subject)
	if family == frozen.Observation {
		return frozen.Name(family, string(ref.Kind), ref.Name) + ".json", err
	}
	return frozen.Name(family, string(ref.Kind), ref.Name, last) + ".json", err
}

// entries writes the content of the bucket.
func entries(ctx context.Context, js jetstream.JetStream, dir string) error {
	kv, err := js.KeyValue(ctx, contract.BucketStatus)
	if err != nil {
		return err
	}
	keys, err := kv.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		ref, err := contract.ParseKey(key)
		if err != nil {
			return err
		}
		entry, err := kv.Get(ctx, key)
		if err != nil {
			return err
		}
		name := frozen.Name(frozen.Entry, string(ref.Kind), ref.Name) + ".json"
		if err := os.WriteFile(filepath.Join(dir, name), append(entry.Value(), '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// objects writes all objects of Flotilla's kinds, as kubectl returns them.
func objects(ctx context.Context, dir string) error {
	var groups []string
	for _, kind := range contract.Kinds() {
		gvk, _ := contract.Lookup(kind)
		groups = append(groups, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
	}
	groups = append(groups, "FireboltEngineClass.v1alpha1.compute.firebolt.io")
	for _, group := range groups {
		raw, err := exec.CommandContext(ctx, "kubectl", "get", group, "--all-namespaces", "--output=json").Output()
		if err != nil {
			return fmt.Errorf("kubectl get %s: %w", group, err)
		}
		var list struct {
			Items []map[string]any `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, o := range list.Items {
			if err := object(o, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func object(o map[string]any, dir string) error {
	meta, _ := o["metadata"].(map[string]any)
	kind, _ := o["kind"].(string)
	name, _ := meta["name"].(string)
	delete(meta, "managedFields")
	text, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, frozen.Name(kind, name)+".yaml"), text, 0o644)
}

// folds writes the conditions that the current code computes from each observation.
func folds(r frozen.Release) error {
	observations, err := r.Read(frozen.Messages, frozen.Observation)
	if err != nil {
		return err
	}
	out := map[string]frozen.Fold{}
	for name, message := range observations {
		if out[name], err = frozen.Of(message); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Dir, frozen.Folds), append(text, '\n'), 0o644)
}
