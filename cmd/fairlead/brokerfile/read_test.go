package brokerfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
)

const minimal = "log.dirs=/data\nlisteners=PLAINTEXT://:9092\n"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestReferencesAreReplaced(t *testing.T) {
	rack := write(t, "rack", " zone-a\n")
	path := write(t, "broker.properties", minimal+"node.id=${env:NODE_ID}\nbroker.rack=${file:"+rack+"}\n"+
		"advertised.listeners=PLAINTEXT://${env:POD_NAME}.kafka-brokers.ns.svc:9092\n")
	f, err := Read(path, env("NODE_ID", "7", "POD_NAME", "kafka-7"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Broker.NodeID != 7 || f.Broker.Rack != "zone-a" || f.Broker.Network.Advertised[0].Host != "kafka-7.kafka-brokers.ns.svc" || f.Pending != nil {
		t.Errorf("%+v", f)
	}
}

func TestDefaultsCountWhereTheFileIsSilent(t *testing.T) {
	d := config.Values{"node.id": "${env:NODE_ID}"}
	f, err := Read(write(t, "b", minimal), env("NODE_ID", "3"), d)
	if err != nil || f.Broker.NodeID != 3 {
		t.Errorf("%d, %v", f.Broker.NodeID, err)
	}
	f, err = Read(write(t, "b", minimal+"node.id=4\n"), env(), d)
	if err != nil || f.Broker.NodeID != 4 {
		t.Errorf("%d, %v", f.Broker.NodeID, err)
	}
}

// An empty file is waited for, and what is wrong beside it shows at once.
func TestEmptyFilesArePending(t *testing.T) {
	rack := write(t, "rack", " \n")
	text := minimal + "node.id=0\nbroker.rack=${file:" + rack + "}\n"
	f, err := Read(write(t, "b", text), env(), nil)
	if err != nil || !slices.Equal(f.Pending, []string{rack}) || f.Broker.Rack != "" {
		t.Errorf("%v, pending %v, rack %q", err, f.Pending, f.Broker.Rack)
	}
	path := write(t, "b", text+"num.partitions=none\n")
	_, err = Read(path, env(), nil)
	if want := path + ": Invalid value none for configuration num.partitions: Not a number of type INT"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestErrorsNameSettingAndReason(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		path := write(t, "b", minimal+"node.id=0\n"+line+"\n")
		_, err := Read(path, env(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), path+": "+want) || !errors.As(err, new(*Error)) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	f("broker.rack=${env:RACK}", "broker.rack: ${env:RACK}: environment variable RACK is not set")
	f("broker.rack=${file:/does/not/exist}", "broker.rack: ${file:/does/not/exist}: open /does/not/exist: no such file or directory")
	f("broker.rack=${vault:x}", `broker.rack: ${vault:x}: no provider "vault": want env or file`)
	f("broker.rack=${file:"+write(t, "large", strings.Repeat("x", maxReferenced+1))+"}", "broker.rack: ${file:")
	if _, err := Read(write(t, "b", minimal+"node.id=0\nbroker.rack=${file:"+write(t, "largest", strings.Repeat("x", maxReferenced))+"}\n"), env(), nil); err != nil {
		t.Errorf("a file of the largest size: %.200v", err)
	}
}
