package schema

import (
	"fmt"
	"io/fs"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// File is a migration to write.
type File struct {
	Name    string // NNNNN_name.sql
	Content string
}

// marker starts a comment in a migration that names what it creates: "-- makes: column model.tier".
// The generator reads these lines, never the SQL.
const marker = "-- makes: "

var numbered = regexp.MustCompile(`^(\d{5})_.*\.(sql|go)$`)

// Missing returns the migrations that a directory lacks: one for each table, for each column, and for the indexes of each
// table, that no file there creates. A test checks that it returns none.
func Missing(dir fs.FS, want []Table) ([]File, error) {
	made, next, err := scan(dir)
	if err != nil {
		return nil, err
	}
	var out []File
	add := func(name string, makes []string, ddl string) {
		out = append(out, File{Name: fmt.Sprintf("%05d_%s.sql", next, name), Content: migration(makes, ddl)})
		next++
	}
	for _, t := range want {
		if !made["table "+t.Name] {
			add("create_"+t.Name, makesOf(t), Create(t))
			continue
		}
		for _, c := range t.Columns {
			if id := t.Name + "." + c.Name; !made["column "+id] {
				add("add_"+t.Name+"_"+c.Name, []string{"column " + id}, AddColumn(t.Name, c))
			}
		}
		var keys []Key
		var makes []string
		for _, k := range t.Keys {
			if id := "index " + t.Name + "." + k.Name; !made[id] {
				keys, makes = append(keys, k), append(makes, id)
			}
		}
		switch {
		case len(keys) == 1:
			add("add_"+t.Name+"_"+strings.ToLower(keys[0].Name), makes, AddKeys(t.Name, keys))
		case len(keys) > 1:
			add("add_"+t.Name+"_indexes", makes, AddKeys(t.Name, keys))
		}
	}
	return out, nil
}

func makesOf(t Table) []string {
	out := []string{"table " + t.Name}
	for _, c := range t.Columns {
		out = append(out, "column "+t.Name+"."+c.Name)
	}
	for _, k := range t.Keys {
		out = append(out, "index "+t.Name+"."+k.Name)
	}
	return out
}

func migration(makes []string, ddl string) string {
	var b strings.Builder
	for _, m := range makes {
		b.WriteString(marker + m + "\n")
	}
	b.WriteString("\n-- +goose NO TRANSACTION\n-- +goose Up\n")
	for statement := range strings.SplitSeq(ddl, ";\n") {
		b.WriteString(statement + ";\n")
	}
	return b.String()
}

func scan(dir fs.FS) (made map[string]bool, next int, err error) {
	names, err := fileNames(dir)
	if err != nil {
		return nil, 0, err
	}
	made = map[string]bool{}
	for _, name := range names {
		match := numbered.FindStringSubmatch(name)
		if match == nil {
			return nil, 0, fmt.Errorf("migration %q must be named NNNNN_name.sql", name)
		}
		n, err := strconv.Atoi(match[1])
		if err != nil {
			return nil, 0, fmt.Errorf("parse number of migration %q: %w", name, err)
		}
		next = max(next, n)
		raw, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, 0, err
		}
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), marker); ok {
				made[rest] = true
			}
		}
	}
	return made, next + 1, nil
}

// fileNames lists the migrations: all SQL files, and the numbered Go files.
func fileNames(dir fs.FS) ([]string, error) {
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		return nil, err
	}
	inGo, err := fs.Glob(dir, "[0-9]*.go")
	if err != nil {
		return nil, err
	}
	names = append(names, inGo...)
	sort.Strings(names)
	return names, nil
}
