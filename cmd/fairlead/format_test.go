package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "broker.properties")
	data := filepath.Join(dir, "data")
	text := "node.id=3\nlog.dirs=" + data + "\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n" +
		"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=3@127.0.0.1:1\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const id = "AAAAAAAAAAAAAAAAAAAAAw"
	f := func(line, want string) {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"format"}, strings.Fields(line)...), &out)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("format %s: %q, want %q", line, got, want)
		}
		if wrong := errors.As(err, new(usageError)); wrong != (strings.HasPrefix(want, "format: ") || want == "unexpected argument") {
			t.Errorf("format %s: wrong use %v", line, wrong)
		}
	}
	f("", "format: --config FILE is needed")
	f("--config "+file, "format: --cluster-id ID is needed")
	f("--config "+file+" --cluster-id c --standalone --initial-voters 3@"+id, "format: either")
	f("--config "+file+" --cluster-id c --initial-voters x@"+id, "format: ")
	f("--config "+file+" --cluster-id c --initial-voters 3@x", "format: ")
	f("--config "+file+" --cluster-id c --directory-id x", "format: ")
	f("--config "+file+" --cluster-id c --initial-voters 4@"+id, "is no voter")
	f("--config "+file+" --cluster-id c more", "unexpected argument")
	f("--config "+dir+"/none --cluster-id c", "read settings")
	if _, err := os.Stat(filepath.Join(data, "meta.properties")); err == nil {
		t.Fatal("a refused format gave the directory an identity")
	}
	f("--config "+file+" --cluster-id c --initial-voters 3@"+id, "")
	meta, err := os.ReadFile(filepath.Join(data, "meta.properties"))
	if err != nil || !strings.Contains(string(meta), "directory.id="+id) || !strings.Contains(string(meta), "cluster.id=c") {
		t.Errorf("%v\n%s", err, meta)
	}
	f("--config "+file+" --cluster-id c --standalone", "formatted already")
	f("--config "+file+" --cluster-id c --standalone --ignore-formatted", "")
}
