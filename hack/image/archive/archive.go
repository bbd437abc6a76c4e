package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// An Entry is a file or, with a mode that says so, a folder of the image. Folders above an entry need not be listed.
type Entry struct {
	Path     string // absolute
	Mode     int64  // permission bits
	Dir      bool
	UID, GID int
	Data     []byte
}

// Config is what a runtime reads of an image. Its JSON is the image specification's.
type Config struct {
	User         string              `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	WorkingDir   string              `json:",omitempty"`
	Labels       map[string]string   `json:",omitempty"`
}

// Image is one image.
type Image struct {
	Tags    []string // NAME:TAG
	Config  Config
	Entries []Entry
}

// epoch is the time of everything in an image: the time of a build is no part of what was built.
var epoch = time.Unix(0, 0).UTC()

// Write writes the image.
func Write(w io.Writer, image Image) error {
	layer, err := layerOf(image.Entries)
	if err != nil {
		return err
	}
	sum := digest(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      epoch.Format(time.RFC3339),
		"config":       image.Config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum}},
	})
	if err != nil {
		return err
	}
	configName, layerName := digest(config)+".json", sum+".tar"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": image.Tags, "Layers": []string{layerName}}})
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{{configName, config}, {layerName, layer}, {"manifest.json", manifest}} {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, Size: int64(len(f.data)), ModTime: epoch}
		if err := put(out, &header, f.data); err != nil {
			return err
		}
	}
	return out.Close()
}

// layerOf is the tar of the entries, sorted, each after the folders above it.
func layerOf(entries []Entry) ([]byte, error) {
	all, err := withParents(entries)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		header := tar.Header{Typeflag: tar.TypeReg, Name: e.Path[1:], Mode: e.Mode, Uid: e.UID, Gid: e.GID, Size: int64(len(e.Data)), ModTime: epoch}
		if e.Dir {
			header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		}
		if err := put(w, &header, e.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func withParents(entries []Entry) ([]Entry, error) {
	all := map[string]Entry{}
	for _, e := range entries {
		if !path.IsAbs(e.Path) || path.Clean(e.Path) != e.Path || e.Path == "/" {
			return nil, fmt.Errorf("image entry %q: want a clean absolute path", e.Path)
		}
		if _, twice := all[e.Path]; twice {
			return nil, fmt.Errorf("image entry %q: given twice", e.Path)
		}
		all[e.Path] = e
	}
	for _, e := range entries {
		for dir := path.Dir(e.Path); dir != "/"; dir = path.Dir(dir) {
			if _, given := all[dir]; !given {
				all[dir] = Entry{Path: dir, Mode: 0o755, Dir: true}
			}
		}
	}
	sorted := make([]Entry, 0, len(all))
	for _, e := range all {
		sorted = append(sorted, e)
	}
	slices.SortFunc(sorted, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return sorted, nil
}

func put(w *tar.Writer, header *tar.Header, data []byte) error {
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
