package main

import (
	"errors"
	"fmt"
	"io"
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

// loadImages gives images to all running nodes, and keeps them for nodes that start later.
func loadImages(l layout, tars []string) error {
	if len(tars) == 0 {
		return errors.New("load-image: name a docker-archive file")
	}
	for _, tar := range tars {
		kept := l.run("images", filepath.Base(tar))
		if err := copyFile(tar, kept); err != nil {
			return fmt.Errorf("load-image %s: %w", tar, err)
		}
		for i := 1; i <= maxNodes; i++ {
			n := node{i}
			if _, alive := launched(l, n.process()); !alive {
				continue
			}
			if err := command(insideNode(l, n, importing(l, kept)...)...); err != nil {
				return fmt.Errorf("load-image %s: node %s: %w", tar, n.name(), err)
			}
		}
		say("%s is on all nodes", filepath.Base(tar))
	}
	return nil
}

// importing gives the words of a command, in a node, that loads an image.
func importing(l layout, tar string) []string {
	return []string{l.bin("ctr"), "--address", containerdSocket, "--namespace", "k8s.io", "images", "import", tar}
}

// copyFile replaces the target at once, so that a node that starts meanwhile sees a whole file.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".copy-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}
