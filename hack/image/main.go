// Command image writes the container image of this repository without a container engine, as a docker-archive tar.
//
//	image -o FILE -t NAME:TAG [-t NAME:TAG]... [-dockerfile Dockerfile] /PATH/IN/IMAGE=FILE...
//
// User, entry point, ports and volumes are those of the Dockerfile's last stage, so that both ways give the same image.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/fairlead-io/fairlead/hack/image/archive"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var image archive.Image
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	output := flags.String("o", "", "file to write")
	dockerfile := flags.String("dockerfile", "Dockerfile", "where the image's settings are")
	flags.Func("t", "NAME:TAG of the image; may be given several times", func(tag string) error {
		image.Tags = append(image.Tags, tag)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *output == "" || len(image.Tags) == 0 || flags.NArg() == 0 {
		return errors.New("-o, -t and files are needed")
	}
	text, err := os.ReadFile(*dockerfile)
	if err != nil {
		return err
	}
	if image.Config, err = configOf(string(text)); err != nil {
		return fmt.Errorf("read %s: %w", *dockerfile, err)
	}
	for _, arg := range flags.Args() {
		target, source, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%s: want /PATH/IN/IMAGE=FILE", arg)
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		image.Entries = append(image.Entries, archive.Entry{Path: target, Mode: 0o755, Data: data})
	}
	folders, err := foldersOf(image.Config)
	if err != nil {
		return err
	}
	image.Entries = append(image.Entries, folders...)
	f, err := os.Create(*output)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := archive.Write(f, image); err != nil {
		return fmt.Errorf("write %s: %w", *output, err)
	}
	return nil
}
