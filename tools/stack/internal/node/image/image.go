// Package image builds images of single static programs, as tars that containerd imports. It requires neither Docker nor
// a registry.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image describes an image of one program.
type Image struct {
	Name string // last path element of the reference
	// Program is a static program, installed at Path in the image.
	Program, Path string
	// Links are absolute paths of links to the program.
	Links []string
	// Entrypoint is the entrypoint of the image.
	Entrypoint []string
}

// Reference returns the name of the image. Its tag is a hash of the contents.
func (i Image) Reference() (string, error) {
	sum := sha256.New()
	file, err := os.Open(i.Program)
	if err != nil {
		return "", fmt.Errorf("read what image %s is of: %w", i.Name, err)
	}
	defer file.Close() //nolint:errcheck // only read
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read what image %s is of: %w", i.Name, err)
	}
	if _, err := fmt.Fprint(sum, i.Path, i.Links, i.Entrypoint); err != nil {
		return "", err
	}
	return "flotilla-node/" + i.Name + ":" + hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// Write atomically writes the image to a file in the format of docker save.
func (i Image) Write(file string) error {
	reference, err := i.Reference()
	if err != nil {
		return err
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		return fmt.Errorf("parse the reference of image %s: %w", i.Name, err)
	}
	img, err := i.build()
	if err != nil {
		return fmt.Errorf("build image %s: %w", i.Name, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("write image %s: %w", i.Name, err)
	}
	if err := tarball.WriteToFile(file+".part", tag, img); err != nil {
		return fmt.Errorf("write image %s: %w", i.Name, err)
	}
	return os.Rename(file+".part", file)
}

func (i Image) build() (v1.Image, error) {
	data, err := i.layer()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux",
		RootFS: v1.RootFS{Type: "layers", DiffIDs: diffIDs(layer)},
		Config: v1.Config{Entrypoint: i.Entrypoint, Env: []string{"PATH=/bin:/usr/bin"}},
	})
}

func diffIDs(layer v1.Layer) []v1.Hash {
	id, err := layer.DiffID()
	if err != nil {
		return nil // the layer is in memory and was read before
	}
	return []v1.Hash{id}
}

// layer returns a tar with the program, its links and a directory for temporary files.
func (i Image) layer() ([]byte, error) {
	program, err := os.ReadFile(i.Program)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	headers := []*tar.Header{
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: i.Path[1:], Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))},
	}
	for _, link := range i.Links {
		headers = append(headers, &tar.Header{Name: link[1:], Typeflag: tar.TypeSymlink, Linkname: i.Path, Mode: 0o777})
	}
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if _, err := w.Write(program); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
