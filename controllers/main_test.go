package controllers

import (
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

func TestMain(m *testing.M) {
	code := kubetest.Main(m)
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	os.Exit(code)
}
