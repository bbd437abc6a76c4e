package archive

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// contents are the names and the bytes of a tar, in order.
func contents(t *testing.T, b []byte) ([]*tar.Header, map[string][]byte) {
	t.Helper()
	var headers []*tar.Header
	data := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, data
		}
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, h)
		if data[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

var small = Image{
	Tags:   []string{"a:1", "a:2"},
	Config: Config{User: "65532:65532", Entrypoint: []string{"/a"}},
	Entries: []Entry{
		{Path: "/usr/bin/tool", Mode: 0o755, Data: []byte("tool")},
		{Path: "/a", Mode: 0o755, Data: []byte("program")},
		{Path: "/data", Mode: 0o755, Dir: true, UID: 65532, GID: 65532},
	},
}

func write(t *testing.T, image Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, image); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The manifest names the config and the layer, and the config names the layer by the digest of its bytes.
func TestNamesAreDigests(t *testing.T) {
	_, files := contents(t, write(t, small))
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || strings.Join(manifest[0].RepoTags, " ") != "a:1 a:2" || len(manifest[0].Layers) != 1 {
		t.Fatalf("manifest: %s", files["manifest.json"])
	}
	config, layer := files[manifest[0].Config], files[manifest[0].Layers[0]]
	if digest(config)+".json" != manifest[0].Config {
		t.Errorf("the config %s has the digest %s", manifest[0].Config, digest(config))
	}
	var parsed struct {
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
		Config Config
	}
	if err := json.Unmarshal(config, &parsed); err != nil {
		t.Fatal(err)
	}
	if want := "[sha256:" + digest(layer) + "]"; fmt.Sprint(parsed.Rootfs.DiffIDs) != want || parsed.Config.User != "65532:65532" {
		t.Errorf("config: %s, want the layer %s", config, want)
	}
}

func TestLayer(t *testing.T) {
	layer, err := layerOf(small.Entries)
	if err != nil {
		t.Fatal(err)
	}
	headers, _ := contents(t, layer)
	var got []string
	for _, h := range headers {
		got = append(got, fmt.Sprintf("%s %o %d:%d", h.Name, h.Mode, h.Uid, h.Gid))
	}
	want := "a 755 0:0, data/ 755 65532:65532, usr/ 755 0:0, usr/bin/ 755 0:0, usr/bin/tool 755 0:0"
	if strings.Join(got, ", ") != want {
		t.Errorf("layer: %s, want %s", strings.Join(got, ", "), want)
	}
}

// The order in which entries are given is no part of the image.
func TestEqualInputGivesEqualBytes(t *testing.T) {
	turned := small
	turned.Entries = []Entry{small.Entries[2], small.Entries[1], small.Entries[0]}
	if !bytes.Equal(write(t, small), write(t, turned)) {
		t.Error("two writes of the same entries differ")
	}
	changed := small
	changed.Entries = append([]Entry{{Path: "/b", Data: []byte("b")}}, small.Entries...)
	if bytes.Equal(write(t, small), write(t, changed)) {
		t.Error("an image with another entry has the same bytes")
	}
}

func TestRefusedEntries(t *testing.T) {
	for _, r := range []struct {
		paths []string
		want  string
	}{
		{[]string{"a"}, `image entry "a": want a clean absolute path`},
		{[]string{"/a/../b"}, `image entry "/a/../b": want a clean absolute path`},
		{[]string{"/"}, `image entry "/": want a clean absolute path`},
		{[]string{"/a", "/a"}, `image entry "/a": given twice`},
	} {
		var entries []Entry
		for _, p := range r.paths {
			entries = append(entries, Entry{Path: p})
		}
		if err := Write(io.Discard, Image{Entries: entries}); err == nil || err.Error() != r.want {
			t.Errorf("%v: %v, want %s", r.paths, err, r.want)
		}
	}
}
