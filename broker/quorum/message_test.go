package quorum

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestJoinKeepsTheAddress(t *testing.T) {
	f := func(address, want string) {
		t.Helper()
		m := Message{Cluster: "c", From: 3, To: 1, Join: &Join{Member: Voter{Node: 3, Directory: kafka.DirectoryID{7}}, Hops: 1, Address: address}}
		b, err := m.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMessage(b)
		if err != nil || got.Join == nil {
			t.Fatalf("%q: %+v, %v", address, got, err)
		}
		if got.Join.Member != m.Join.Member || got.Join.Hops != 1 || got.Join.Address != want {
			t.Errorf("%q: got %+v", address, *got.Join)
		}
	}
	f("", "")
	f("host:1", "host:1")
	long := strings.Repeat("x", maxAddressBytes+1)
	f(long, long[1:])
	m := Message{Join: &Join{}}
	b, _ := m.AppendTo(nil)
	if _, err := ParseMessage(b[:len(b)-1]); err == nil {
		t.Error("a join that is cut short is taken")
	}
}
