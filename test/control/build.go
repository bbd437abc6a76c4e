package control

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the program of the checkout at root into dir, for tests that run real brokers, and gives the control command that runs
// it. The command finds the program by the environment, so that one process tests one build.
func Build(root, dir string) (command string, err error) {
	program := filepath.Join(dir, "fairlead")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/fairlead")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build fairlead: %w: %s", err, out)
	}
	if err := os.Setenv("FAIRLEAD", program); err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(root, "hack", "cluster"))
}
