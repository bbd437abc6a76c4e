package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// readiness is what is waited for: that a node is ready, and has said so since it was started.
type readiness struct {
	node  node
	since time.Time
}

// nodesReady reads a list of nodes and says of the first that is not ready why.
func nodesReady(list []byte, wanted []readiness) error {
	var parsed struct{ Items []nodeState }
	if err := json.Unmarshal(list, &parsed); err != nil {
		return fmt.Errorf("read the list of nodes: %w", err)
	}
	for _, w := range wanted {
		i := slices.IndexFunc(parsed.Items, func(s nodeState) bool { return s.Metadata.Name == w.node.name() })
		if i < 0 {
			return fmt.Errorf("node %s has not registered", w.node.name())
		}
		if err := parsed.Items[i].ready(w.since); err != nil {
			return fmt.Errorf("node %s %w", w.node.name(), err)
		}
	}
	return nil
}

// nodeState is what is read of a Node.
type nodeState struct {
	Metadata struct{ Name string }
	Spec     struct{ Taints []struct{ Key string } }
	Status   struct {
		Conditions []struct {
			Type, Status, Message string
			LastHeartbeatTime     time.Time
		}
	}
}

func (s nodeState) ready(since time.Time) error {
	for _, c := range s.Status.Conditions {
		switch {
		case c.Type != "Ready":
			continue
		case c.Status != "True":
			return fmt.Errorf("is not ready: %s", c.Message)
		case c.LastHeartbeatTime.Before(since):
			return errors.New("has said nothing since it was started")
		case len(s.Spec.Taints) > 0:
			return fmt.Errorf("has the taint %s", s.Spec.Taints[0].Key)
		}
		return nil
	}
	return errors.New("has no condition Ready")
}
