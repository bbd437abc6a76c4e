package controllers

import (
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }
