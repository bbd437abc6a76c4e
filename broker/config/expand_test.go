package config

import (
	"errors"
	"fmt"
	"maps"
	"testing"
)

func TestExpand(t *testing.T) {
	lookup := func(provider, key string) (string, error) {
		if provider == "env" && key == "POD_NAME" {
			return "b-0", nil
		}
		if provider == "env" && key == "DOLLAR" {
			return "${env:POD_NAME}", nil
		}
		return "", fmt.Errorf("%s has no %s", provider, key)
	}
	f := func(text, want string) {
		t.Helper()
		v, err := Expand(Values{"k": text, "other": "x"}, lookup)
		if err != nil || !maps.Equal(v, Values{"k": want, "other": "x"}) {
			t.Errorf("%q: %v, %v, want %q", text, v, err, want)
		}
	}
	refused := func(text, want string) {
		t.Helper()
		if _, err := Expand(Values{"k": text}, lookup); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	f("", "")
	f("PLAINTEXT://${env:POD_NAME}.x.svc:9092", "PLAINTEXT://b-0.x.svc:9092")
	f("${env:POD_NAME}${env:POD_NAME}-", "b-0b-0-")
	f("${env:DOLLAR}", "${env:POD_NAME}") // once
	f("$env:POD_NAME {env:POD_NAME}", "$env:POD_NAME {env:POD_NAME}")
	f("${no reference} and ${env:POD_NAME", "${no reference} and ${env:POD_NAME")
	refused("${env:GONE}", "k: ${env:GONE}: env has no GONE")
	refused("a${env:POD_NAME}b${vault:x}", "k: ${vault:x}: vault has no x")

	v := Values{"k": "${env:POD_NAME}"}
	if _, err := Expand(v, lookup); err != nil || v["k"] != "${env:POD_NAME}" {
		t.Errorf("%v, and the values given are now %v", err, v)
	}
	wrapped := errors.New("reason")
	if _, err := Expand(v, func(string, string) (string, error) { return "", wrapped }); !errors.Is(err, wrapped) {
		t.Errorf("%v does not wrap the reason", err)
	}
}
