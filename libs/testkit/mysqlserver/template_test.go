package mysqlserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDataDirectoryIsInitializedOnce(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("FLOTILLA_CACHE", cache)
	var templates []os.FileInfo
	for range 2 {
		s, err := choose(t.Context(), Config{Dir: t.TempDir(), Logf: t.Logf}, localServer, installed)
		if err != nil {
			t.Fatal(err)
		}
		p := s.backend.(*program)
		if err := p.initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(p.data(), "mysql")); err != nil {
			t.Errorf("the data directory is not initialized: %v", err)
		}
		if _, err := os.Stat(filepath.Join(p.data(), "auto.cnf")); !os.IsNotExist(err) {
			t.Errorf("servers share a UUID: %v", err)
		}
		dir, err := p.template(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, info)
	}
	if !os.SameFile(templates[0], templates[1]) {
		t.Error("the second server initialized another directory")
	}
}
