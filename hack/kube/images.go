package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/hack/image/archive"
)

const pauseImage = "kube.fairlead.io/pause:1"

// makePauseImage makes the image of pods' first process; it is in run/images as every other.
func makePauseImage(l layout) error {
	program, err := os.ReadFile(l.bin("pause"))
	if err != nil {
		return err
	}
	f, err := os.Create(l.run("images", "pause.tar"))
	if err != nil {
		return err
	}
	defer f.Close()
	return archive.Write(f, archive.Image{Tags: []string{pauseImage}, Config: archive.Config{Entrypoint: []string{"/pause"}},
		Entries: []archive.Entry{{Path: "/pause", Mode: 0o755, Data: program}}})
}

// loadImages gives images to all running nodes, and keeps them for nodes that start later. One that is kept already, byte
// for byte, is on all nodes: it is kept last.
func loadImages(l layout, tars []string) error {
	if len(tars) == 0 {
		return errors.New("load-image: name a docker-archive file")
	}
	for _, tar := range tars {
		kept := l.run("images", filepath.Base(tar))
		if same, err := sameContents(tar, kept); err != nil {
			return fmt.Errorf("load-image: %w", err)
		} else if same {
			say("%s is on all nodes already", filepath.Base(tar))
			continue
		}
		if err := loadImage(l, tar, kept); err != nil {
			return fmt.Errorf("load-image %s: %w", tar, err)
		}
		say("%s is on all nodes", filepath.Base(tar))
	}
	return nil
}

func loadImage(l layout, tar, kept string) error {
	loading := kept + ".loading" // nodes see the folder of the run as it is, other folders perhaps not
	if err := copyFile(tar, loading); err != nil {
		return err
	}
	defer os.Remove(loading)
	for i := 1; i <= maxNodes; i++ {
		n := node{i}
		if _, alive := launched(l, n.process()); !alive {
			continue
		}
		if err := command(insideNode(l, n, importing(l, loading)...)...); err != nil {
			return fmt.Errorf("node %s: %w", n.name(), err)
		}
	}
	return os.Rename(loading, kept)
}

// importing gives the words of a command, in a node, that loads an image.
func importing(l layout, tar string) []string {
	return []string{l.bin("ctr"), "--address", containerdSocket, "--namespace", "k8s.io", "images", "import", tar}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// sameContents compares two files; the second may be missing.
func sameContents(a, b string) (bool, error) {
	first, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	second, err := os.ReadFile(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(first, second), err
}
