package kubetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Kubectl runs kubectl, as somebody who may do everything, and gives what it prints. It is one of the programs in KUBEBUILDER_ASSETS.
func Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	Server(t)
	home := t.TempDir()
	config := filepath.Join(home, "config")
	server.mu.Lock()
	text := server.env.KubeConfig
	server.mu.Unlock()
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv(assets), "kubectl"), append([]string{"--kubeconfig", config}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home) // where it keeps what it learnt of an API server
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
