package quickstart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	root  = "../../.."
	guide = "docs/quickstart-kubernetes.md"
	// limit bounds the whole; every wait in the guide has its own.
	limit = 25 * time.Minute
)

// blocks are the guide's shell commands.
func blocks(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestQuickstartIsTrue(t *testing.T) {
	if os.Getenv("FAIRLEAD_E2E") == "" {
		t.Skip("set FAIRLEAD_E2E to follow the guide on the local Kubernetes; `make e2e` does")
	}
	text, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		t.Fatal(err)
	}
	all := blocks(string(text))
	if len(all) < 8 {
		t.Fatalf("the guide has %d blocks", len(all))
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	// A release of another run is in the way; that there is none, or no cluster yet, is no error here.
	before := exec.CommandContext(ctx, "hack/kube/kube", "helm", "uninstall", "fairlead", "--namespace", "fairlead-system", "--ignore-not-found", "--wait")
	before.Dir = root
	if text, err := before.CombinedOutput(); err != nil {
		t.Logf("%v: %s", err, text)
	}
	var script strings.Builder
	for i, b := range all {
		fmt.Fprintf(&script, "echo '=== block %d'\n%s\n", i+1, b)
	}
	cmd := exec.CommandContext(ctx, "bash", "-euxo", "pipefail", "-c", script.String())
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	// What the reader is shown.
	for _, want := range []string{
		`(?m)^\+ hack/kube/kube exec kcat -C .*\n(.*\n)*?1000$`, // all records come back
		`cluster.fairlead.io/demo +True +3/3 `,
		`topic.fairlead.io/orders +demo +6 +3 +0 +True `,
		`cluster.fairlead.io/demo +True +4/4 `,
		`topic.fairlead.io/orders +demo +12 +3 +0 +True `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
