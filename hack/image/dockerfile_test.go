package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The image of this repository: a user without rights, no shell, the broker as entry point.
func TestRepositoryDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	c, err := configOf(string(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"User":"65532:65532","ExposedPorts":{"9092/tcp":{},"9093/tcp":{},"9094/tcp":{}},"Env":["PATH=/"],"Entrypoint":["/fairlead"],` +
		`"Cmd":["broker","--config","/etc/fairlead/broker.properties"],"Volumes":{"/data":{}}}`
	if string(got) != want {
		t.Errorf("the Dockerfile gives\n%s, want\n%s", got, want)
	}
}

func TestConfigOf(t *testing.T) {
	f := func(dockerfile, want string) {
		t.Helper()
		c, err := configOf(dockerfile)
		got := ""
		if err != nil {
			got = err.Error()
		} else if text, err := json.Marshal(c); err == nil {
			got = string(text)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q gives %s, want %s", dockerfile, got, want)
		}
	}
	f("FROM a\nUSER 1:1\nFROM scratch\nENTRYPOINT [\"/b\"]", `{"Env":["PATH=/"],"Entrypoint":["/b"]}`)
	f("FROM a\nRUN one \\\n && two\nUSER 1:2", `"User":"1:2"`)
	f("FROM a\nENTRYPOINT /b", "instruction 2, ENTRYPOINT: invalid character")
	f("FROM a\nHEALTHCHECK NONE", "instruction 2, HEALTHCHECK: the instruction HEALTHCHECK is not known here")
}

// A name needs a passwd file to mean something, and Kubernetes refuses it for runAsNonRoot.
func TestUserIsANumber(t *testing.T) {
	for user, want := range map[string]string{"root": `user "root": want numbers`, "1": `group of user "1": want a number`} {
		c, err := configOf("FROM scratch\nUSER " + user)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := foldersOf(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("user %s: %v, want %s", user, err, want)
		}
	}
}
