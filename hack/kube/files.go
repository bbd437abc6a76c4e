package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed files
var files embed.FS

// facts are what the templates in files/ know. Those of a node are empty for the fabric.
type facts struct {
	FabricAddress, DNSService, PodRange string
	Bin, PKI, PauseImage                string
	Fabric                              bool
	Name, Address, Pods, Dir            string
}

func fabricFacts(l layout) facts {
	return facts{FabricAddress: fabricAddress, DNSService: dnsService, PodRange: podRange, Bin: l.bin(), PKI: l.run("pki"), PauseImage: pauseImage, Fabric: true,
		Name: node{1}.name()} // kube-proxy wants a node's name; none of its rules depends on which
}

func nodeFacts(l layout, n node) facts {
	f := fabricFacts(l)
	f.Fabric, f.Name, f.Address, f.Pods, f.Dir = false, n.name(), n.address(), n.pods(), l.node(n)
	return f
}

// render is one of files/ with the facts in it.
func render(name string, f facts) (string, error) {
	text, err := files.ReadFile("files/" + name)
	if err != nil {
		return "", err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, f); err != nil {
		return "", err
	}
	return b.String(), nil
}

// place writes one of files/ with the facts in it.
func place(name, target string, mode os.FileMode, f facts) error {
	text, err := render(name, f)
	if err != nil {
		return fmt.Errorf("write %s: %w", target, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(text), mode)
}
