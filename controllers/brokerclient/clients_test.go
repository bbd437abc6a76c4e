package brokerclient

import (
	"testing"
)

// closed tells whether a client was closed.
func closed(c *Client) bool { return c.kafka.Context().Err() != nil }

func TestAClusterHasOneClient(t *testing.T) {
	s := NewClients()
	defer s.Close()
	of := func(cluster string, addresses ...string) *Client {
		c, err := s.Of(cluster, addresses...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a := of("a", "127.0.0.1:1")
	if of("a", "127.0.0.1:1") != a {
		t.Error("a second client of one cluster")
	}
	b := of("b", "127.0.0.1:1")
	if b == a {
		t.Error("two clusters with one client")
	}
	moved := of("a", "127.0.0.1:2")
	if moved == a || !closed(a) {
		t.Error("a client goes on with the old address")
	}
	s.Drop("a")
	s.Drop("a")
	if !closed(moved) || closed(b) {
		t.Error("the client of the cluster that goes is closed, and no other")
	}
	if of("a", "127.0.0.1:2") == moved {
		t.Error("a closed client is given")
	}
	s.Close()
	if !closed(b) {
		t.Error("a client outlives the set")
	}
	if _, err := s.Of("a", "127.0.0.1:1"); err == nil {
		t.Error("a client of a closed set")
	}
}

func TestAClientNeedsAnAddress(t *testing.T) {
	s := NewClients()
	defer s.Close()
	if _, err := s.Of("a", "not an address:x"); err == nil {
		t.Error("no error")
	}
}
