package interop

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The table of APIs in docs/compatibility.md is what brokers advertise.
func TestCompatibilityDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(t, nil)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "interop", "1"
	resp, err := req.RequestWith(context.Background(), cl)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.ApiKeys) == 0 {
		t.Fatal("no API is advertised")
	}
	for _, k := range resp.ApiKeys {
		row := fmt.Sprintf("| %d | %s | %d to %d |", k.ApiKey, kmsg.NameForKey(k.ApiKey), k.MinVersion, k.MaxVersion)
		if !strings.Contains(strings.ReplaceAll(string(text), "InitProducerId", "InitProducerID"), row) {
			t.Errorf("no row begins with %s", row)
		}
	}
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		var key int
		if n, _ := fmt.Sscanf(line, "| %d | ", &key); n == 1 {
			rows++
		}
	}
	if rows != len(resp.ApiKeys) {
		t.Errorf("the table has %d APIs, %d are advertised", rows, len(resp.ApiKeys))
	}
}
